/**
 * The headers that the user container gets (contract 2.8): internal names and hop-by-hop removed,
 * `Host` restored, the peer appended to `X-Forwarded-For`, `Forwarded` made from its older
 * relatives. Framing, `TE` and upgrade are the proxy core's.
 */
import {
  HOP_BY_HOP_HEADERS,
  INTERNAL_HEADERS,
  KNATIVE_NAMESPACE_HEADER,
  KNATIVE_REVISION_HEADER,
  ORIGINAL_HOST_HEADER,
} from "../../common/contracts/headers.ts";

const FOR = "x-forwarded-for";
const HOST = "x-forwarded-host";
const PROTO = "x-forwarded-proto";

const DROPPED: ReadonlySet<string> = new Set([
  ...INTERNAL_HEADERS,
  ...HOP_BY_HOP_HEADERS,
  KNATIVE_REVISION_HEADER,
  KNATIVE_NAMESPACE_HEADER,
  "content-length",
]);

export interface Hop {
  readonly remoteAddress: string;
  /** A container probe keeps `K-Original-Host` and its own Host. */
  readonly kind: "traffic" | "container-probe";
}

export function containerHeaders(received: readonly string[], hop: Hop): string[] {
  const listed = connectionTokens(received);
  const seen: Seen = { originalHost: "", forwarded: false };
  const out: string[] = [];
  for (let index = 0; index + 1 < received.length; index += 2) {
    const name = received[index] ?? "";
    const value = received[index + 1] ?? "";
    const lower = name.toLowerCase();
    if (DROPPED.has(lower) || listed?.has(lower) === true) continue;
    if (!collect({ lower, value, hop }, seen)) out.push(name, value);
  }
  if (seen.originalHost !== "") replaceHost(out, seen.originalHost);
  const shim = seen.forwarded ? "" : forwardedShim(seen.for, seen.host, seen.proto);
  if (shim !== "") out.push("Forwarded", shim);
  const peer = plainAddress(hop.remoteAddress);
  out.push("X-Forwarded-For", seen.for === undefined ? peer : `${seen.for}, ${peer}`);
  return out;
}

/** `for=<first>;host=..;proto=.., for=<next>`; empty when there is nothing to say. */
export function forwardedShim(xff?: string, xfh?: string, xfp?: string): string {
  const hops = (xff ?? "")
    .split(",")
    .map((element) => element.trim())
    .filter((element) => element !== "")
    .map((element) => (element.includes(":") ? `for="[${element}]"` : `for=${element}`));
  const first = [
    ...hops.slice(0, 1),
    ...(xfh === undefined || xfh === "" ? [] : [`host=${xfh}`]),
    ...(xfp === undefined || xfp === "" ? [] : [`proto=${xfp}`]),
  ];
  return [first.join(";"), ...hops.slice(1)].filter((part) => part !== "").join(", ");
}

interface Seen {
  originalHost: string;
  forwarded: boolean;
  for?: string;
  host?: string;
  proto?: string;
}

interface Header {
  readonly lower: string;
  readonly value: string;
  readonly hop: Hop;
}

/** Notes what the rules need; true when the header is not copied as it is. */
function collect({ lower, value, hop }: Header, seen: Seen): boolean {
  switch (lower) {
    case ORIGINAL_HOST_HEADER:
      if (hop.kind === "container-probe") return false;
      seen.originalHost ||= value;
      return true;
    case FOR:
      seen.for = seen.for === undefined ? value : `${seen.for}, ${value}`;
      return true;
    case HOST:
      seen.host ??= value;
      return false;
    case PROTO:
      seen.proto ??= value;
      return false;
    case "forwarded":
      seen.forwarded = true;
      return false;
    default:
      return false;
  }
}

/** Names that `Connection` lists are hop-by-hop for this message; rare, hence the early undefined. */
function connectionTokens(headers: readonly string[]): ReadonlySet<string> | undefined {
  let tokens: Set<string> | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if ((headers[index] ?? "").toLowerCase() !== "connection") continue;
    for (const token of (headers[index + 1] ?? "").split(",")) {
      const name = token.trim().toLowerCase();
      if (name === "close" || name === "keep-alive" || name === "upgrade" || name === "te")
        continue;
      (tokens ??= new Set()).add(name);
    }
  }
  return tokens;
}

function replaceHost(headers: string[], host: string): void {
  for (let index = 0; index < headers.length; index += 2) {
    if ((headers[index] ?? "").toLowerCase() !== "host") continue;
    headers[index + 1] = host;
    return;
  }
  headers.push("Host", host);
}

/** IPv4 peers of a dual-stack socket appear as `::ffff:a.b.c.d`. */
function plainAddress(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
