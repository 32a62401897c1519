/** What happened to each target while this process watched: its changes of state, newest last. */
import type { TargetState, TargetView } from "../common/contracts/routing.ts";

/** Changes kept per target. */
const MOST_CHANGES = 12;

export interface TargetChange {
  readonly at: number;
  readonly state: TargetState;
  readonly reason: string;
}

export class TransitionLog {
  readonly #changes = new Map<string, TargetChange[]>();

  /** Targets that are not among these are forgotten. */
  note(targets: readonly TargetView[]): void {
    const present = new Set(targets.map(({ uid }) => uid));
    for (const uid of this.#changes.keys()) if (!present.has(uid)) this.#changes.delete(uid);
    for (const { uid, state, reason, changedAt } of targets) {
      const changes = this.#changes.get(uid) ?? [];
      const last = changes.at(-1);
      if (last?.state === state && last.reason === reason) continue;
      changes.push({ at: changedAt, state, reason });
      if (changes.length > MOST_CHANGES) changes.shift();
      this.#changes.set(uid, changes);
    }
  }

  of(uid: string): readonly TargetChange[] {
    return this.#changes.get(uid) ?? [];
  }
}
