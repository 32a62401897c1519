/** What a dashboard remembers from one sample to the next beside its charts. */
import type { ActivatorFigures } from "../common/contracts/activator-figures.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { TrafficLog } from "./latency.ts";
import { TransitionLog } from "./transitions.ts";
import type { RevisionPast, RevisionReading } from "./view.ts";

export class Past {
  readonly #traffic = new TrafficLog();
  readonly #transitions = new TransitionLog();

  note(
    at: number,
    figures: readonly ActivatorFigures[],
    readings: readonly RevisionReading[],
  ): void {
    this.#traffic.add(at, figures);
    // With no reading the store is away, which says nothing about the targets.
    if (readings.length > 0) this.#transitions.note(readings.flatMap(({ targets }) => targets));
  }

  of(key: RevisionKey): RevisionPast {
    return {
      traffic: this.#traffic.read(key),
      changesOf: (uid) => this.#transitions.of(uid),
    };
  }
}
