/**
 * Fuzzes the heads and bodies of requests on both fronts. Whatever arrives: no crash, no hang, no
 * second framing towards the upstream, nothing after a refusal, and what the fast front passes the
 * safe one passes with the same requests.
 */
import { createRandom } from "../../common/random.ts";
import {
  type FrontPlayer,
  LAST_REQUEST,
  type Outcome,
  startFrontPlayer,
} from "../support/front-player.ts";
import { readStrictly, type StrictRequest } from "../support/strict-requests.ts";
import { fuzzedConnection, type FuzzedRequest } from "./request-mutations.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly ms: number;
}

export interface FuzzResult {
  readonly runs: number;
  /** Runs in which the fast front let all of the connection pass. */
  readonly passed: number;
  readonly findings: readonly string[];
}

const MAX_FINDINGS = 10;

export async function fuzzRequestHeads({ seed, ms }: FuzzOptions): Promise<FuzzResult> {
  const random = createRandom(seed);
  const safe = await startFrontPlayer("safe");
  const raw = await startFrontPlayer("raw");
  const findings: string[] = [];
  let runs = 0;
  let passed = 0;
  try {
    for (const endsAt = performance.now() + ms; performance.now() < endsAt; runs += 1) {
      const request = fuzzedConnection(random, LAST_REQUEST);
      const outcome = await raw.play(request.pieces);
      const players = { raw, safe };
      const fault = faultOf(outcome) ?? (await lastingDifference(outcome, request, players));
      if (fault !== undefined) findings.push(`${fault}: ${JSON.stringify(request.text)}`);
      if (outcome.statuses.every((status) => status < 400)) passed += 1;
      if (findings.length >= MAX_FINDINGS) break;
    }
  } finally {
    await raw.stop();
    await safe.stop();
  }
  return { runs, passed, findings };
}

/** What must hold of any outcome by itself. */
function faultOf({ statuses, forwarded, end }: Outcome): string | undefined {
  if (end === "never") return "the connection hangs";
  const refusedAt = statuses.findIndex((status) => status === 400);
  if (refusedAt !== -1 && refusedAt !== statuses.length - 1) return "an answer follows a refusal";
  if (refusedAt !== -1 && end !== "closed") return "a refusal does not close the connection";
  for (const stream of forwarded) {
    const fault = streamFault(stream);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function streamFault(stream: string): string | undefined {
  try {
    const { requests, rest } = readStrictly(stream);
    if (requests.length > 1) return "two requests on one upstream connection";
    return requests.length === 1 && rest !== "" ? "bytes behind the request" : undefined;
  } catch (error) {
    return `the upstream stream is not clean (${String(error)})`;
  }
}

/** A difference that is there again when both fronts get all the time they want. */
async function lastingDifference(
  outcome: Outcome,
  request: FuzzedRequest,
  players: { readonly raw: FrontPlayer; readonly safe: FrontPlayer },
): Promise<string | undefined> {
  const first = await differenceOf(outcome, request, () => players.safe.play(request.pieces));
  if (first === undefined) return undefined;
  const again = await players.raw.play(request.pieces, "long");
  return differenceOf(again, request, () => players.safe.play(request.pieces, "long"));
}

/** The fast front may refuse more than the safe one, never less. */
async function differenceOf(
  outcome: Outcome,
  request: FuzzedRequest,
  playSafe: () => Promise<Outcome>,
): Promise<string | undefined> {
  if (outcome.end !== "closed" || outcome.statuses.some((status) => status >= 400))
    return undefined;
  // A wish to switch, or another connection preface, has tests of its own.
  if (/upgrade|expect/i.test(request.text)) return undefined;
  const other = await playSafe();
  const [mine, theirs] = [requestsOf(outcome), requestsOf(other)];
  return JSON.stringify(mine) === JSON.stringify(theirs)
    ? undefined
    : `the safe front forwards ${theirs.length} requests, the fast one ${mine.length}`;
}

function requestsOf({ forwarded }: Outcome): StrictRequest[] {
  return forwarded.flatMap((stream) => readStrictly(stream).requests);
}
