/** The way of one request to other cells: looked for when no slot is free here, taken once or more. */
import type { Attempt } from "../../proxy/types.ts";
import type { WaitClock } from "../core/deadlines.ts";
import type { CarriedRank } from "../core/hop.ts";
import type { RevisionEntry } from "../revision-entry.ts";
import type { Look } from "../ticket.ts";
import type { SpillDesk } from "./spill-desk.ts";
import { Tries } from "./spill-desk.ts";
import { Spill } from "./spill.ts";
import type { SpilledRequest, SpillPlan } from "./spill.ts";

export class Outgoing {
  readonly #desk: SpillDesk;
  readonly #entry: RevisionEntry;
  readonly #tries = new Tries();
  #plan: SpillPlan | null = null;
  #words = "";
  /** The way that ended the request, where one did. */
  #lost: Spill | undefined;

  readonly #rank: { carried(): CarriedRank };

  constructor(desk: SpillDesk, entry: RevisionEntry, rank: { carried(): CarriedRank }) {
    this.#desk = desk;
    this.#entry = entry;
    this.#rank = rank;
  }

  /** Where a slot is free elsewhere, a request need not stand in the queue here before it goes. */
  look(clock: WaitClock, at: number): Look {
    const { config } = this.#entry;
    const look = config === null ? "while" : this.#desk.look(config);
    if (look !== "now") return look;
    return this.find(clock, at) && this.#plan?.hop.spill === "warm" ? "now" : "before";
  }

  /** Another cell is the better choice at this moment. */
  find(clock: WaitClock, at: number): boolean {
    const { config } = this.#entry;
    if (config === null) return false;
    const found = this.#desk.find({
      entry: this.#entry,
      config,
      clock,
      at,
      tries: this.#tries,
    });
    this.#plan = found.plan;
    this.#words = found.words;
    return found.plan !== null;
  }

  /** For `Server-Timing` of a request that stayed or was lost; empty when nobody was asked. */
  get timing(): string {
    if (this.#lost !== undefined) return this.#lost.timing;
    return this.#words === "" ? "" : `choice;desc="${this.#words}"`;
  }

  /** False: nothing was found, and nothing was started. */
  start(request: Omit<SpilledRequest, "rank">, wrap: (attempt: Attempt) => Attempt): boolean {
    const plan = this.#plan;
    this.#plan = null;
    if (plan === null) return false;
    const spill = new Spill(plan, {
      ...request,
      rank: this.#rank,
      onEnd: (verdict, end) => {
        if (verdict.kind === "answer") this.#lost = spill;
        request.onEnd(verdict, end);
      },
    });
    spill.start(wrap);
    return true;
  }
}
