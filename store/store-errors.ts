/**
 * What an error of the store means for a call: nothing to reach, the wrong node, a server that is
 * busy or full. All of these may pass without anybody doing anything, so the call is repeated
 * inside its deadline; everything else is a mistake and is shown at once.
 */
import { PlatformError, errorText } from "../common/errors.ts";

export type StoreFault =
  /** No connection, or it broke with the call on its way. */
  | "away"
  /** Reached, but not the one that may write this key now. */
  | "wrong-node"
  /** One script holds the server. */
  | "busy"
  /** A newer version of the platform has laid the state out anew: this one may not touch it. */
  | "newer-layout"
  /** No memory, or no way to persist: nothing is written until that is over. */
  | "full";

const PREFIXES: readonly (readonly [StoreFault, readonly string[]])[] = [
  [
    "wrong-node",
    [
      "READONLY",
      "LOADING",
      "MASTERDOWN",
      "CLUSTERDOWN",
      "MOVED",
      "ASK",
      "TRYAGAIN",
      "NOREPLICAS",
      "UNBLOCKED",
      "Too many Cluster redirections",
    ],
  ],
  ["busy", ["BUSY"]],
  ["newer-layout", ["NEWERLAYOUT"]],
  ["full", ["OOM", "MISCONF"]],
  [
    "away",
    [
      "Connection is closed",
      "Command timed out",
      "Stream isn't writeable",
      "Socket timeout",
      "Reached the max retries per request limit",
      "Command aborted",
      "Cluster isn't ready",
      "Cluster is ended",
      "None of startup nodes is available",
      "Failed to refresh slots cache",
    ],
  ],
];

const AWAY_CODES = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
]);

/** Null: repeating the call would not help. */
export function faultOf(error: unknown): StoreFault | null {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string" && AWAY_CODES.has(code)) return "away";
  const text = errorText(error);
  for (const [fault, prefixes] of PREFIXES) {
    if (prefixes.some((prefix) => text.startsWith(prefix))) return fault;
  }
  return null;
}

export function isRetriable(error: unknown): boolean {
  return faultOf(error) !== null;
}

export function isFunctionMissing(error: unknown): boolean {
  return errorText(error).includes("Function not found");
}

const CURES: Readonly<Record<StoreFault, string>> = {
  away: "check that Valkey runs and that the address is right",
  "wrong-node": "check that a primary serves all keys, and that the address names it",
  busy: "one script holds the server; end it with SCRIPT KILL or FUNCTION KILL",
  "newer-layout":
    "a newer version of Pilotlight is being rolled out; this process is of an older one, replace it",
  full: "give it more memory, or space to persist",
};

export function unavailable(why: string, cause?: unknown): PlatformError {
  const fault = (cause === undefined ? null : faultOf(cause)) ?? "away";
  return new PlatformError(
    "ERR_STORE_UNAVAILABLE",
    `The store cannot be used: ${why}; ${CURES[fault]}`,
    { cause, details: { fault } },
  );
}
