/**
 * A histogram per status code, in typed arrays. Bounded: one row per code that was seen, and those
 * beyond a limit share one.
 */

/** Codes beyond these many share the row 0. */
const MAX_STATUSES = 64;

export class StatusHistogram {
  readonly #bounds: readonly number[];
  /** Buckets, then the overflow bucket, then the sum. */
  readonly #rows = new Map<number, Float64Array>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  observe(status: number, value: number): void {
    const row = this.#row(status);
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1;
    row[index] = (row[index] ?? 0) + 1;
    row[bounds.length + 1] = (row[bounds.length + 1] ?? 0) + value;
  }

  render(name: string, help: string): string[] {
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    for (const [status, row] of this.#rows) {
      const label = `http_response_status_code="${status}"`;
      let total = 0;
      for (const [index, bound] of this.#bounds.entries()) {
        total += row[index] ?? 0;
        lines.push(`${name}_bucket{${label},le="${bound}"} ${total}`);
      }
      total += row[this.#bounds.length] ?? 0;
      const sum = row[this.#bounds.length + 1] ?? 0;
      lines.push(`${name}_bucket{${label},le="+Inf"} ${total}`);
      lines.push(`${name}_sum{${label}} ${sum}`, `${name}_count{${label}} ${total}`);
    }
    return lines;
  }

  #row(status: number): Float64Array {
    const known = this.#rows.get(status);
    if (known !== undefined) return known;
    if (this.#rows.size >= MAX_STATUSES && status !== 0) return this.#row(0);
    const row = new Float64Array(this.#bounds.length + 2);
    this.#rows.set(status, row);
    return row;
  }
}
