/** The waiting queue against its definition: a plain sort at every admission. */
import { describe, expect, it } from "vitest";
import { nextFitting } from "../../../common/hexgen/backfill.ts";
import { Heap } from "../../../common/hexgen/heap.ts";
import type { WaitingEntry } from "../../../common/hexgen/waiting-queue.ts";
import { WaitingQueue } from "../../../common/hexgen/waiting-queue.ts";
import { createRandom } from "../../../common/random.ts";
import type { Random } from "../../../common/random.ts";
import { isHopeless } from "../../../common/urgency.ts";

interface Entry extends WaitingEntry {
  readonly size: number;
}

const entry = (fields: Partial<Entry> & { sequence: number }): Entry => ({
  orderClass: 0,
  key: fields.sequence,
  deadlineAt: 1_000_000,
  rest: 10,
  waitingSince: 0,
  size: 1,
  ...fields,
});

function drawEntry(random: Random, sequence: number, now: number): Entry {
  const rest = Math.floor(random() * 40);
  const deadlineAt = now + Math.floor(random() * 200) - 20;
  const orderClass = isHopeless(now, deadlineAt, rest) ? 1 : 0;
  return entry({ sequence, rest, deadlineAt, orderClass, key: deadlineAt - rest });
}

/** The rule as written: classes of the instant, a sort, every eighth admission for class 1. */
class QueueByDefinition {
  readonly waiting: { entry: Entry; isLost: boolean }[] = [];
  #passed = 0;

  head(now: number): Entry | undefined {
    for (const each of this.waiting) {
      each.isLost ||= isHopeless(now, each.entry.deadlineAt, each.entry.rest);
    }
    const lost = this.#sorted(true, (each) => each.rest);
    const alive = this.#sorted(false, (each) => each.key);
    if (alive.length === 0) return lost[0];
    return lost.length > 0 && this.#passed >= 7 ? lost[0] : alive[0];
  }

  admit(admitted: Entry): void {
    const index = this.waiting.findIndex((each) => each.entry === admitted);
    const [removed] = this.waiting.splice(index, 1);
    const lostWait = this.waiting.some(({ isLost }) => isLost);
    this.#passed = removed?.isLost === false && lostWait ? this.#passed + 1 : 0;
  }

  #sorted(isLost: boolean, keyOf: (entry: Entry) => number): Entry[] {
    return this.waiting
      .filter((each) => each.isLost === isLost)
      .map((each) => each.entry)
      .toSorted((one, two) => keyOf(one) - keyOf(two) || one.sequence - two.sequence);
  }
}

describe("waiting queue", () => {
  it.each([1, 2, 3, 4, 5])("admits what the definition admits, random steps of seed %i", (seed) => {
    const random = createRandom(seed);
    const queue = new WaitingQueue<Entry>({ order: "urgency" });
    const model = new QueueByDefinition();
    let now = 0;
    for (let step = 0; step < 2_000; step += 1) {
      now += Math.floor(random() * 6);
      const head = queue.head(now);
      expect(head).toBe(model.head(now));
      if (random() < 0.5 || head === undefined) {
        const added = drawEntry(random, step, now);
        queue.push(added);
        model.waiting.push({ entry: added, isLost: added.orderClass === 1 });
      } else {
        queue.admit(head);
        model.admit(head);
      }
      expect(queue.size).toBe(model.waiting.length);
    }
  });

  it("names the instant after which the next call becomes hopeless", () => {
    const queue = new WaitingQueue<Entry>({ order: "urgency" });
    expect(queue.nextCrossingAt()).toBe(Infinity);
    queue.push(entry({ sequence: 1, deadlineAt: 100, rest: 20 }));
    queue.push(entry({ sequence: 2, deadlineAt: 60, rest: 20 }));
    expect(queue.nextCrossingAt()).toBe(50);
    queue.head(51);
    expect(queue.nextCrossingAt()).toBe(90);
  });

  it("serves a call that waited beyond the limit before more urgent ones", () => {
    const queue = new WaitingQueue<Entry>({ order: "pq", starvationLimit: 100 });
    const old = entry({ sequence: 1, key: 900, waitingSince: 0 });
    const urgent = entry({ sequence: 2, key: 5, waitingSince: 50 });
    queue.push(old);
    queue.push(urgent);
    expect(queue.head(100)).toBe(urgent);
    expect(queue.head(101)).toBe(old);
  });

  it("lets no lost call of one tenant pass another tenant's call that can be met", () => {
    const queue = new WaitingQueue<Entry>({ order: "urgency" });
    const lost = entry({ sequence: 1, orderClass: 1, tenant: "a" });
    queue.push(lost);
    for (let sequence = 2; sequence <= 12; sequence += 1) {
      queue.push(entry({ sequence, tenant: "b" }));
    }
    for (let admission = 0; admission < 11; admission += 1) {
      const head = queue.head(0);
      expect(head?.tenant).toBe("b");
      if (head !== undefined) queue.admit(head);
    }
    expect(queue.head(0)).toBe(lost);
  });

  it("forgets a cancelled call, and says whether it waited here", () => {
    const queue = new WaitingQueue<Entry>({ order: "fifo" });
    const first = entry({ sequence: 1 });
    const second = entry({ sequence: 2 });
    queue.push(first);
    queue.push(second);
    expect(queue.remove(first)).toBe(true);
    expect(queue.remove(first)).toBe(false);
    expect(queue.head(0)).toBe(second);
    expect([...queue]).toEqual([second]);
  });
});

describe("backfill", () => {
  const fits = (limit: number) => (each: Entry) => each.size <= limit;

  it("takes the head while it fits", () => {
    const queue = new WaitingQueue<Entry>({ order: "pq" });
    const head = entry({ sequence: 1, size: 3 });
    queue.push(head);
    queue.push(entry({ sequence: 2 }));
    expect(nextFitting(queue, 0, fits(3))).toBe(head);
  });

  it("lets a roomy head be passed by the first that fits, sixteen times", () => {
    const queue = new WaitingQueue<Entry>({ order: "pq" });
    queue.push(entry({ sequence: 1, size: 9 }));
    for (let sequence = 2; sequence <= 40; sequence += 1) queue.push(entry({ sequence }));
    for (let pass = 0; pass < 16; pass += 1) {
      const passing = nextFitting(queue, 0, fits(1));
      expect(passing?.sequence).toBe(pass + 2);
      if (passing !== undefined) queue.admit(passing);
    }
    expect(nextFitting(queue, 0, fits(1))).toBeUndefined();
  });

  it("looks only at the next neighbour of a tight head", () => {
    const queue = new WaitingQueue<Entry>({ order: "pq" });
    queue.push(entry({ sequence: 1, size: 9, deadlineAt: 60, rest: 10 }));
    queue.push(entry({ sequence: 2, size: 9 }));
    queue.push(entry({ sequence: 3, size: 1 }));
    expect(nextFitting(queue, 0, fits(1))).toBeUndefined();
    expect(nextFitting(queue, 0, fits(9))?.sequence).toBe(1);
  });

  it("never looks into the other class", () => {
    const queue = new WaitingQueue<Entry>({ order: "urgency" });
    queue.push(entry({ sequence: 1, size: 9 }));
    queue.push(entry({ sequence: 2, orderClass: 1 }));
    expect(nextFitting(queue, 0, fits(1))).toBeUndefined();
  });
});

describe("heap", () => {
  it("finds the best that is accepted, in order, and stays as it was", () => {
    const random = createRandom(7);
    for (let round = 0; round < 200; round += 1) {
      const numbers = Array.from({ length: 1 + Math.floor(random() * 40) }, () =>
        Math.floor(random() * 50),
      );
      const heap = new Heap<number>((left, right) => left < right);
      for (const number of numbers) heap.push(number);
      const isOdd = (number: number): boolean => number % 2 === 1;
      const isAlive = (number: number): boolean => number % 5 !== 0;
      const sorted = numbers.toSorted((left, right) => left - right);
      const expected = sorted.filter(isAlive).slice(0, 6).find(isOdd);
      expect(heap.findBest(6, isAlive, isOdd)).toBe(expected);
      expect(Array.from(numbers, () => heap.pop())).toEqual(sorted);
    }
  });
});
