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
import { HeaderNames, isHeaderName } from "../../common/header-names.ts";
import { withoutMapping } from "../../common/peer-address.ts";

const CONNECTION = "connection";

export interface Hop {
  readonly remoteAddress: string;
  /** A container probe keeps `K-Original-Host` and its own Host. */
  readonly kind: "traffic" | "container-probe";
  /** `Expect` is the word of the hop in front, not of the caller. */
  readonly dropsExpect?: boolean;
}

export function containerHeaders(received: readonly string[], hop: Hop): string[] {
  const listed = connectionTokens(received);
  const seen: Seen = {};
  const out: string[] = [];
  for (let index = 0; index < received.length; index += 2) {
    const name = received[index] ?? "";
    const value = received[index + 1] ?? "";
    const rule = RULES.get(name);
    if (isDropped(rule, hop)) continue;
    if (listed !== NO_TOKENS && listed.has(name.toLowerCase())) continue;
    if (!isNoted(rule)) {
      out.push(name, value);
      continue;
    }
    remember(seen, rule, value);
    if (!isReplaced(rule, hop)) out.push(name, value);
  }
  addWritten(out, seen, hop);
  return out;
}

/** What this hop writes itself. */
function addWritten(out: string[], seen: Seen, hop: Hop): void {
  if (hop.kind === "traffic" && seen.originalHost) replaceHost(out, seen.originalHost);
  const shim = seen.forwarded === undefined ? forwardedShim(seen.for, seen.host, seen.proto) : "";
  if (shim !== "") out.push("Forwarded", shim);
  const peer = withoutMapping(hop.remoteAddress);
  out.push("X-Forwarded-For", seen.for === undefined ? peer : `${seen.for}, ${peer}`);
}

/** `for=<first>;host=..;proto=.., for=<next>`; empty when there is nothing to say. */
export function forwardedShim(xff = "", xfh = "", xfp = ""): string {
  if (xff === "" && xfh === "" && xfp === "") return "";
  const hops = xff
    .split(",")
    .map((element) => element.trim())
    .filter((element) => element !== "")
    .map((element) => (element.includes(":") ? `for="[${element}]"` : `for=${element}`));
  const first = [
    ...hops.slice(0, 1),
    ...(xfh === "" ? [] : [`host=${xfh}`]),
    ...(xfp === "" ? [] : [`proto=${xfp}`]),
  ];
  return [first.join(";"), ...hops.slice(1)].filter((part) => part !== "").join(", ");
}

/** What the rules need to know of the headers that passed. */
type Seen = { [name in Noted]?: string };
type Rule = Noted | "drop" | "expect";
type Noted = "originalHost" | "forwarded" | "for" | "host" | "proto";

/** One look per header: what is dropped, what is noted; everything else just passes. */
const RULES = new HeaderNames<Rule>([
  ...[...INTERNAL_HEADERS, ...HOP_BY_HOP_HEADERS].map((name) => [name, "drop"] as const),
  [KNATIVE_REVISION_HEADER, "drop"],
  [KNATIVE_NAMESPACE_HEADER, "drop"],
  ["content-length", "drop"],
  ["expect", "expect"],
  [ORIGINAL_HOST_HEADER, "originalHost"],
  ["forwarded", "forwarded"],
  ["x-forwarded-for", "for"],
  ["x-forwarded-host", "host"],
  ["x-forwarded-proto", "proto"],
]);

function isDropped(rule: Rule | undefined, hop: Hop): boolean {
  return rule === "drop" || (rule === "expect" && hop.dropsExpect === true);
}

function isNoted(rule: Rule | undefined): rule is Noted {
  return rule !== undefined && rule !== "drop" && rule !== "expect";
}

function remember(seen: Seen, note: Noted, value: string): void {
  const before = seen[note];
  if (before === undefined) seen[note] = value;
  else if (note === "for") seen[note] = `${before}, ${value}`;
}

/** Written anew at the end, or gone. */
function isReplaced(rule: Noted, hop: Hop): boolean {
  return rule === "for" || (rule === "originalHost" && hop.kind === "traffic");
}

const NO_TOKENS: ReadonlySet<string> = new Set();

/** Names that `Connection` lists: hop-by-hop for this message. */
function connectionTokens(headers: readonly string[]): ReadonlySet<string> {
  let tokens = NO_TOKENS;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? "";
    if (!isHeaderName(name, CONNECTION)) continue;
    const listed = (headers[index + 1] ?? "").toLowerCase().split(",");
    tokens = new Set([...tokens, ...listed.map((token) => token.trim())].filter(isRemovable));
  }
  return tokens;
}

/** A request without its Host would be none. */
function isRemovable(token: string): boolean {
  return token !== "host";
}

function replaceHost(headers: string[], host: string): void {
  for (let index = 0; index < headers.length; index += 2) {
    if ((headers[index] ?? "").toLowerCase() !== "host") continue;
    headers[index + 1] = host;
    return;
  }
  headers.push("Host", host);
}
