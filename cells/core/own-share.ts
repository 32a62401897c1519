/**
 * One cell's part of a service's book: how many pods it may run, and what it says to the home cell
 * to get more or to give back. Pure; the rules that keep the sum within max in any partition:
 *
 *  - a cell never runs more than the last answer to its latest message allowed, or less if it said so
 *  - giving back is said only after the pods are gone, and holds from the moment it is said
 *  - each message states what the cell holds, so that a lost answer takes nothing with it
 */

export interface OwnShareState {
  /** Pods that this cell may run. */
  readonly holds: number;
  /** Number of the latest message. */
  readonly number: number;
  /** Cell whose book this stands in; empty before its first answer. */
  readonly home: string;
}

export interface ShareAsk {
  readonly number: number;
  readonly holds: number;
  readonly wants: number;
  /** The cell whose book it stood in before; empty when it was this one, or none. */
  readonly movedFrom: string;
}

export interface ShareAnswer {
  readonly kind: "ok" | "old" | "hearing";
  readonly share: number;
  readonly numberOnRecord: number;
}

export class OwnShare {
  #holds: number;
  #number: number;
  #home: string;

  /** `running`: pods that run here, which is what counts where the store knows less or nothing. */
  constructor(state: OwnShareState | null, running: number) {
    this.#holds = Math.max(state?.holds ?? 0, running);
    this.#number = state?.number ?? 0;
    this.#home = state?.home ?? "";
  }

  get holds(): number {
    return this.#holds;
  }

  get state(): OwnShareState {
    return { holds: this.#holds, number: this.#number, home: this.#home };
  }

  /**
   * The next message: asks for `wants`, and gives back what is above it and not in use. From now on
   * the cell holds no more than the message says, until its answer comes.
   */
  ask(given: { readonly wants: number; readonly inUse: number; readonly home: string }): ShareAsk {
    const { wants, inUse, home } = given;
    this.#number += 1;
    this.#holds = Math.min(this.#holds, Math.max(wants, inUse));
    const movedFrom = this.#home === home ? "" : this.#home;
    return { number: this.#number, holds: this.#holds, wants, movedFrom };
  }

  /** True: there is more to say at once. */
  answered(home: string, number: number, answer: ShareAnswer): boolean {
    if (number !== this.#number) return false;
    if (answer.kind === "old") {
      // An earlier life of this cell had counted further.
      this.#number = Math.max(this.#number, answer.numberOnRecord);
      return true;
    }
    if (answer.kind === "hearing") return false;
    this.#home = home;
    this.#holds = answer.share;
    return false;
  }
}

/** Pods that a cell keeps room for while it wishes less, so that a first start asks nobody. */
export function roomOf(room: {
  /** Spare pods that are kept here. */
  readonly buffer: number;
  /** Of the service; 0 for no limit. */
  readonly max: number;
  /** In which it may run. */
  readonly cells: number;
  readonly isHome: boolean;
}): number {
  const { buffer, max, cells, isHome } = room;
  // Where there is none for each, whoever asked first would keep it from those who have demand.
  const isScarce = max > 0 && max < cells;
  return isScarce && !isHome ? buffer : Math.max(1, buffer);
}
