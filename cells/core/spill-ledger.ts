/**
 * What this activator sent to a cell since that cell last spoke: a slot is not offered twice. A
 * digest whose sender had heard us at T knows of everything that was sent well before T.
 */

/** What travels behind a request on the other cell: until its slot is taken there. */
const TAKEN_MS = 50;
/** Kept at most, per cell and service; more are counted together. */
const MOST = 4_096;

export class SpillLedger {
  readonly #sent = new Map<string, number[]>();

  note(key: string, at: number): void {
    const times = this.#sent.get(key);
    if (times === undefined) this.#sent.set(key, [at]);
    else if (times.length < MOST) times.push(at);
  }

  /** Sent and perhaps not seen yet in what the cell said. */
  open(key: string): number {
    return this.#sent.get(key)?.length ?? 0;
  }

  /** The cell spoke of this service, having heard what we sent up to `heardAt`, our clock. */
  settle(key: string, heardAt: number): void {
    const times = this.#sent.get(key);
    if (times === undefined) return;
    const left = times.filter((at) => at > heardAt - TAKEN_MS);
    if (left.length === 0) this.#sent.delete(key);
    else this.#sent.set(key, left);
  }

  /** Refused: its slot was not taken. */
  undo(key: string): void {
    const times = this.#sent.get(key);
    times?.pop();
    if (times?.length === 0) this.#sent.delete(key);
  }
}
