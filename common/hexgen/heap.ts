/** Binary heap over a comparison: the one container behind every waiting queue. */

export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (left: T, right: T) => boolean;

  constructor(isBefore: (left: T, right: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#moveUp(this.#items.length - 1, item);
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#moveDown(last);
    return top;
  }

  /** Keeps what passes; for throwing out many items at once. O(n log n). */
  retain(isKept: (item: T) => boolean): void {
    const kept = this.#items.filter(isKept);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }

  #moveUp(from: number, item: T): void {
    const items = this.#items;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = items[parentIndex];
      if (parent === undefined || !this.#isBefore(item, parent)) break;
      items[index] = parent;
      index = parentIndex;
    }
    items[index] = item;
  }

  #moveDown(item: T): void {
    const items = this.#items;
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = items[childIndex];
      const right = items[childIndex + 1];
      if (child !== undefined && right !== undefined && this.#isBefore(right, child)) {
        childIndex += 1;
        child = right;
      }
      if (child === undefined || !this.#isBefore(child, item)) break;
      items[index] = child;
      index = childIndex;
    }
    items[index] = item;
  }
}
