/**
 * What this activator sent to a cell since that cell last spoke: a slot is not offered twice. A
 * digest whose sender had heard us at T knows of everything that was sent well before T.
 */

/** What travels behind a request on the other cell: until its slot is taken there. */
const TAKEN_MS = 50;
/** Kept at most, per cell and service; more are counted together. */
const MOST = 4_096;

interface Sent {
  readonly at: number;
}

export class SpillLedger {
  readonly #sent = new Map<string, Sent[]>();

  /** Answers how to strike it out: it was refused, or is over and its slot is free again. */
  note(key: string, at: number): () => void {
    const sent: Sent = { at };
    const open = this.#sent.get(key);
    if (open === undefined) this.#sent.set(key, [sent]);
    else if (open.length < MOST) open.push(sent);
    return () => this.#keep(key, (other) => other !== sent);
  }

  /** Sent and perhaps not seen yet in what the cell said. */
  open(key: string): number {
    return this.#sent.get(key)?.length ?? 0;
  }

  /** The cell spoke of this service, having heard what we sent up to `heardAt`, our clock. */
  settle(key: string, heardAt: number): void {
    this.#keep(key, ({ at }) => at > heardAt - TAKEN_MS);
  }

  #keep(key: string, isOpen: (sent: Sent) => boolean): void {
    const left = this.#sent.get(key)?.filter(isOpen) ?? [];
    if (left.length === 0) this.#sent.delete(key);
    else this.#sent.set(key, left);
  }
}
