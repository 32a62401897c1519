/**
 * Where the store is, as one URL says it: one server, a set of Sentinels that know the primary, or
 * some nodes of a cluster. Apart, because a wrong URL must be named before anything connects.
 */
import { PlatformError } from "../common/errors.ts";

export interface StoreNode {
  readonly host: string;
  readonly port: number;
}

interface Access {
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

export type StoreAddress =
  /** `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS. */
  | { readonly kind: "single"; readonly url: string }
  /** `redis+sentinel://[user:password@]host[:port],.../name`; user and password are the primary's. */
  | ({
      readonly kind: "sentinel";
      readonly sentinels: readonly StoreNode[];
      readonly name: string;
    } & Access)
  /** `redis+cluster://[user:password@]host[:port],...`; a few nodes are enough to find the others. */
  | ({ readonly kind: "cluster"; readonly nodes: readonly StoreNode[] } & Access);

const DEFAULT_PORT = 6_379;
const SENTINEL_PORT = 26_379;
const SEVERAL =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<access>[^@]*)@)?(?<hosts>[^/]+)(?:\/(?<name>.*))?$/;

export function parseStoreUrl(url: string): StoreAddress {
  if (/^rediss?:\/\//.test(url)) return { kind: "single", url };
  const parts = SEVERAL.exec(url)?.groups;
  if (parts === undefined) throw invalid(url, "it has none of the known forms");
  const { scheme, kind, access = "", hosts = "", name = "" } = parts;
  const common = { ...parseAccess(access), tls: scheme === "rediss" };
  if (kind === "cluster") {
    if (name !== "") throw invalid(url, "a cluster has one database without a name");
    return { kind, nodes: parseNodes(url, hosts, DEFAULT_PORT), ...common };
  }
  if (name === "") throw invalid(url, "the name of the primary is missing after the last host");
  return {
    kind: "sentinel",
    sentinels: parseNodes(url, hosts, SENTINEL_PORT),
    name: decodeURIComponent(name),
    ...common,
  };
}

function parseAccess(text: string): Omit<Access, "tls"> {
  if (text === "") return {};
  const colon = text.indexOf(":");
  const username = decodeURIComponent(colon < 0 ? text : text.slice(0, colon));
  const password = colon < 0 ? "" : decodeURIComponent(text.slice(colon + 1));
  return { ...(username === "" ? {} : { username }), ...(password === "" ? {} : { password }) };
}

function parseNodes(url: string, text: string, defaultPort: number): StoreNode[] {
  return text.split(",").map((part) => {
    const match = /^(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(?<port>\d+))?$/.exec(part)?.groups;
    const port = match?.["port"] === undefined ? defaultPort : Number(match["port"]);
    const host = match?.["host"]?.replace(/^\[|\]$/g, "");
    if (host === undefined || port < 1 || port > 65_535) {
      throw invalid(url, `"${part}" is no host:port`);
    }
    return { host, port };
  });
}

/** The password never stands in a message. */
function invalid(url: string, why: string): PlatformError {
  const shown = url.replace(/\/\/[^@]*@/, "//***@");
  return new PlatformError(
    "ERR_CONFIG_INVALID",
    `The store's URL "${shown}" cannot be used: ${why}; expected redis://host:port, ` +
      "redis+sentinel://host:port,host:port/name or redis+cluster://host:port,host:port " +
      "(rediss for TLS)",
  );
}
