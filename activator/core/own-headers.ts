/** What the platform adds to every answer, its own and those of containers. */
import {
  ATTEMPTS_HEADER,
  COLD_START_HEADER,
  POD_HEADER,
  REQUEST_ID_HEADER,
  SERVER_TIMING_HEADER,
} from "../../common/contracts/headers.ts";
import type { RequestTimes } from "./server-timing.ts";
import { serverTiming } from "./server-timing.ts";

export interface OwnHeaderFacts {
  readonly requestId: string;
  /** The request waited for a pod to start. */
  readonly cold: boolean;
  readonly times: RequestTimes;
  /** Of a ranked call: what was not understood, and with debug its schedule. */
  readonly more?: readonly string[];
  /** How the choice among cells was made; empty or absent where none was. */
  readonly choice?: string;
  /** Asked for by the caller, and allowed. */
  readonly debug: { readonly pod: string; readonly attempts: number } | null;
}

export function ownHeaders(facts: OwnHeaderFacts): string[] {
  const headers = [
    REQUEST_ID_HEADER,
    facts.requestId,
    COLD_START_HEADER,
    facts.cold ? "true" : "false",
    SERVER_TIMING_HEADER,
    serverTiming(facts.times) + (facts.choice ? `, ${facts.choice}` : ""),
  ];
  headers.push(...(facts.more ?? []));
  if (facts.debug !== null) {
    if (facts.debug.pod !== "") headers.push(POD_HEADER, facts.debug.pod);
    headers.push(ATTEMPTS_HEADER, String(facts.debug.attempts));
  }
  return headers;
}
