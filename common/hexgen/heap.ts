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

  /**
   * The first item in order that is accepted, among the best `count` that are alive; the heap stays
   * as it is. O(count^2) at most, without allocation per item.
   */
  findBest(
    count: number,
    isAlive: (item: T) => boolean,
    isAccepted: (item: T) => boolean,
  ): T | undefined {
    // Indexes whose parents were all visited; the next item in order is the best of them.
    const frontier = [0];
    let seen = 0;
    while (seen < count && frontier.length > 0) {
      const index = this.#takeBest(frontier);
      const item = this.#items[index];
      if (item === undefined) continue;
      frontier.push(2 * index + 1, 2 * index + 2);
      if (!isAlive(item)) continue;
      if (isAccepted(item)) return item;
      seen += 1;
    }
    return undefined;
  }

  /** Keeps what passes; for throwing out many items at once. O(n log n). */
  retain(isKept: (item: T) => boolean): void {
    const kept = this.#items.filter(isKept);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }

  #takeBest(frontier: number[]): number {
    let bestPosition = 0;
    let best: T | undefined;
    for (let position = 0; position < frontier.length; position += 1) {
      const item = this.#items[frontier[position] ?? 0];
      if (item === undefined || (best !== undefined && !this.#isBefore(item, best))) continue;
      best = item;
      bestPosition = position;
    }
    const index = frontier[bestPosition] ?? 0;
    frontier[bestPosition] = frontier.at(-1) ?? 0;
    frontier.pop();
    return index;
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
