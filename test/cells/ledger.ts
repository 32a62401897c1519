/** What became of each request: sent, started in a pod, answered, failed, and by whose doing. */

interface Entry {
  readonly entry: string;
  readonly sentAt: number;
  starts: number;
  status: number;
  reason: string;
  timing: string;
  endedAt: number;
}

interface End {
  readonly status: number;
  readonly reason: string;
  /** `Server-Timing` of the answer. */
  readonly timing?: string;
}

export interface Counts {
  readonly sent: number;
  readonly answered: number;
  readonly failedUndelivered: number;
  readonly failedUnknown: number;
  readonly doubled: number;
  /** Longest that a request sent since `since` took, ms. */
  readonly longestMs: number;
  readonly reasons: Readonly<Record<string, number>>;
}

export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly lostEntries = new Set<string>();

  sent(id: string, entry: string): void {
    const sentAt = performance.now();
    const nothing = { starts: 0, status: -1, reason: "", timing: "", endedAt: 0 };
    this.#entries.set(id, { entry, sentAt, ...nothing });
  }

  started(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.starts += 1;
  }

  ended(id: string, { status, reason, timing = "" }: End): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.status = status;
    entry.reason = reason;
    entry.timing = timing;
    entry.endedAt = performance.now();
  }

  get open(): number {
    let open = 0;
    for (const { status } of this.#entries.values()) if (status === -1) open += 1;
    return open;
  }

  /** Of those that entered at a cell, how many have no end yet. */
  openAt(cell: string): number {
    let open = 0;
    for (const { status, entry } of this.#entries.values()) {
      if (status === -1 && entry === cell) open += 1;
    }
    return open;
  }

  /** Requests whose connection ended at a cell that was killed are that cell's loss. */
  counts(since: number): Counts {
    const all = [...this.#entries.values()].filter(
      ({ entry, status }) => !(this.lostEntries.has(entry) && status === 0),
    );
    const isFailed = ({ status }: Entry): boolean => status !== 200;
    const reasons: Record<string, number> = {};
    for (const one of all.filter(isFailed)) {
      const word = one.reason === "" ? `status ${one.status}` : one.reason;
      reasons[word] = (reasons[word] ?? 0) + 1;
    }
    return {
      sent: this.#entries.size,
      answered: all.filter(({ status }) => status === 200).length,
      failedUndelivered: all.filter((one) => isFailed(one) && !mayHaveRun(one)).length,
      failedUnknown: all.filter((one) => isFailed(one) && mayHaveRun(one)).length,
      doubled: all.filter(({ starts }) => starts > 1).length,
      longestMs: Math.round(
        Math.max(
          0,
          ...all.filter(({ sentAt }) => sentAt >= since).map((one) => one.endedAt - one.sentAt),
        ),
      ),
      reasons,
    };
  }
}

/**
 * A pod saw it, or the cell of entry cannot know: all of it had left for a slot in another cell
 * when that way broke (semantics 11.3), and nothing that the other cell would say now is safe.
 */
function mayHaveRun({ starts, reason, timing }: Entry): boolean {
  return starts > 0 || (reason === "upstream_reset" && /spill;desc="(warm|given)"/.test(timing));
}
