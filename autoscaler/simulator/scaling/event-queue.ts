/** Events in order of time, those of one instant in order of entry: a binary heap. */

interface Entry<T> {
  readonly atMs: number;
  readonly number: number;
  readonly event: T;
}

export class EventQueue<T> {
  readonly #heap: Entry<T>[] = [];
  #number = 0;

  get size(): number {
    return this.#heap.length;
  }

  add(atMs: number, event: T): void {
    this.#number += 1;
    this.#heap.push({ atMs, number: this.#number, event });
    this.#rise(this.#heap.length - 1);
  }

  /** Earliest event, taken out; `undefined` when none is left. */
  next(): { readonly atMs: number; readonly event: T } | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return undefined;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    return first;
  }

  #rise(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(start: number): void {
    let index = start;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= this.#heap.length) return;
      const right = left + 1;
      const child = right < this.#heap.length && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, index)) return;
      this.#swap(child, index);
      index = child;
    }
  }

  #isBefore(left: number, right: number): boolean {
    const [one, other] = [this.#heap[left], this.#heap[right]];
    if (one === undefined || other === undefined) return false;
    return one.atMs < other.atMs || (one.atMs === other.atMs && one.number < other.number);
  }

  #swap(left: number, right: number): void {
    const [one, other] = [this.#heap[left], this.#heap[right]];
    if (one === undefined || other === undefined) return;
    this.#heap[left] = other;
    this.#heap[right] = one;
  }
}
