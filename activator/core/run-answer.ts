/** What is kept of an answer, and what a run's end means. Pure. */
import { REASON_HEADER } from "../../common/contracts/headers.ts";
import { findHeader } from "./caller-headers.ts";

/** Largest body of an asynchronous call, and of an answer that is delivered (bar: 6 MiB). */
export const MOST_BODY_BYTES = 6 * 1_048_576;
/** Largest answer that stays readable after its run (bar: 1 MiB). */
export const MOST_KEPT_BYTES = 1_048_576;
/** How long state and answer can be read afterwards (bar: 1 h). */
export const KEPT_MS = 3_600_000;

/** Refusals of the moment, of which no container saw anything: the run waits for another. */
const PASSING: ReadonlySet<string> = new Set([
  "queue_full",
  "store_unavailable",
  "activator_draining",
]);

const KEPT_HEADERS: ReadonlySet<string> = new Set([
  "content-type",
  "content-encoding",
  "content-language",
  "content-disposition",
]);

export type RunVerdict = "success" | "failure" | "wait";

export function judgeRun(status: number, headers: readonly string[]): RunVerdict {
  if (status === 503 && PASSING.has(findHeader(headers, REASON_HEADER))) return "wait";
  return status >= 100 && status < 400 ? "success" : "failure";
}

/** What says how to read the body, and the attributes of an event that the container answered. */
export function keptHeaders(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    if (KEPT_HEADERS.has(name) || name.startsWith("ce-")) kept.push(name, headers[at + 1] ?? "");
  }
  return kept;
}

/** The list without some headers, by lower-case names. */
export function withoutHeaders(headers: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (!names.has(name.toLowerCase())) kept.push(name, headers[at + 1] ?? "");
  }
  return kept;
}
