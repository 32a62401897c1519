/** Reads a run as the scripts keep it: its state as JSON of theirs, its request as JSON of ours. */
import type { AnswerFacts, RunRecord, RunRequest } from "../../common/contracts/async-runs.ts";
import { PlatformError } from "../../common/errors.ts";

/** As `accept-run` creates it. */
type StoredRun = Omit<RunRecord, "id" | "request" | "answer"> & { readonly answer: string };

export function parseRun(id: string, state: string, request: string): RunRecord {
  const { answer, ...stored } = parse(state) as StoredRun;
  return {
    id,
    ...stored,
    answer: answer === "" ? null : (parse(answer) as AnswerFacts),
    request: parse(request) as RunRequest,
  };
}

/** All three texts were written by scripts and bindings of ours. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlatformError("ERR_STORE_REPLY", "The store holds a run that is no JSON", {
      cause,
      details: { text: text.slice(0, 200) },
    });
  }
}
