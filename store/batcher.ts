/**
 * Collects the acquires and releases of one turn of the event loop and sends them as one call per
 * revision: the costs of a call are paid once for all of them. At most four calls of a revision are
 * on their way; what comes meanwhile makes up the next one. A lone call goes out as itself.
 */
import { ChurnMap } from "../common/churn-map.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { acquireLease } from "./bindings/acquire-lease.ts";
import { releaseLease, serveRequests } from "./bindings/requests.ts";
import type { RequestStep } from "./bindings/requests.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type { AcquireRequest, AcquireResult } from "./types.ts";

/** Bounds the time of one call in the server. */
const MOST_STEPS = 16;
/** Calls of one revision on their way; bench/README.md has the measurement. */
const MOST_IN_FLIGHT = 4;

interface Due {
  readonly step: RequestStep;
  /** Called with a result for an acquire, without one for a release. */
  readonly resolve: (result?: AcquireResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Told of each step that failed, before its caller is. */
export type OnFailedStep = (revision: RevisionKey, step: RequestStep) => void;

interface Line {
  readonly revision: RevisionKey;
  readonly due: Due[];
  inFlight: number;
  /** It is sent at the end of this turn. */
  isDue: boolean;
}

function newLine(revision: RevisionKey): Line {
  return { revision, due: [], inFlight: 0, isDue: false };
}

export class Batcher {
  readonly #caller: ScriptCaller;
  readonly #onFailed: OnFailedStep;
  /** Only those with work, so their number is bounded by the open requests. */
  readonly #lines = new ChurnMap<Line>();
  /** Lines that wait for the end of this turn. */
  #turn: Line[] = [];

  constructor(caller: ScriptCaller, onFailed: OnFailedStep) {
    this.#caller = caller;
    this.#onFailed = onFailed;
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return new Promise((resolve, reject) => {
      const end = (result?: AcquireResult): void => {
        if (result !== undefined) resolve(result);
      };
      this.#add(request.revision, { step: { acquire: request }, resolve: end, reject });
    });
  }

  release(revision: RevisionKey, leaseId: string, outcome: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => resolve();
      this.#add(revision, { step: { release: { leaseId, outcome } }, resolve: end, reject });
    });
  }

  #add(revision: RevisionKey, due: Due): void {
    let line = this.#lines.get(revision);
    if (line === undefined) this.#lines.set(revision, (line = newLine(revision)));
    line.due.push(due);
    if (line.inFlight >= MOST_IN_FLIGHT) return;
    if (line.isDue) return;
    line.isDue = true;
    if (this.#turn.length === 0) setImmediate(this.#endTurn);
    this.#turn.push(line);
  }

  readonly #endTurn = (): void => {
    const lines = this.#turn;
    this.#turn = [];
    for (const line of lines) {
      line.isDue = false;
      this.#send(line);
    }
  };

  #send(line: Line): void {
    while (line.due.length > 0 && line.inFlight < MOST_IN_FLIGHT) {
      line.inFlight += 1;
      const batch = takeBatch(line.due);
      this.#call(line.revision, batch).then(
        () => this.#ended(line),
        (error: unknown) => {
          for (const { step, reject } of batch) {
            this.#onFailed(line.revision, step);
            reject(error);
          }
          this.#ended(line);
        },
      );
    }
  }

  #ended(line: Line): void {
    line.inFlight -= 1;
    if (line.due.length > 0) this.#send(line);
    else if (line.inFlight === 0) this.#lines.delete(line.revision);
  }

  #call(revision: RevisionKey, batch: readonly Due[]): Promise<void> {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) return this.#callOne(revision, first);
    const steps: RequestStep[] = [];
    let activatorId = "";
    for (const { step } of batch) {
      steps.push(step);
      if ("acquire" in step) ({ activatorId } = step.acquire);
    }
    return this.#caller.call(serveRequests, revision, { activatorId, steps }).then((results) => {
      for (let i = 0; i < batch.length; i += 1) batch[i]?.resolve(results[i]);
    });
  }

  #callOne(revision: RevisionKey, { step, resolve }: Due): Promise<void> {
    return "acquire" in step
      ? this.#caller.call(acquireLease, revision, step.acquire).then(resolve)
      : this.#caller.call(releaseLease, revision, step.release).then(() => resolve());
  }
}

/** The first ones that may go in one call: it names one activator. */
function takeBatch(due: Due[]): Due[] {
  let activatorId: string | undefined;
  let count = 0;
  for (const { step } of due) {
    if (count === MOST_STEPS) break;
    if ("acquire" in step) {
      activatorId ??= step.acquire.activatorId;
      if (step.acquire.activatorId !== activatorId) break;
    }
    count += 1;
  }
  return due.splice(0, count);
}
