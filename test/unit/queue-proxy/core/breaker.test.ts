/** The limit of a pod: who runs, who waits, who is refused, and in which order the waiting start. */
import { describe, expect, it } from "vitest";
import { createRandom } from "../../../../common/random.ts";
import type { Entrant } from "../../../../queue-proxy/core/breaker.ts";
import { Breaker } from "../../../../queue-proxy/core/breaker.ts";
import type { QueuedCall } from "../../../../queue-proxy/core/local-queue.ts";

const UNORDERED: QueuedCall = {
  order: undefined,
  deadline: undefined,
  tenant: undefined,
  note: undefined,
};

function setup(limit: number) {
  const breaker = new Breaker(limit, () => 0);
  const started: string[] = [];
  const entrant = (name: string) => ({ start: () => void started.push(name) });
  return { breaker, started, entrant };
}

const order = (keyMs: number): QueuedCall => ({ ...UNORDERED, order: `0;${keyMs};0` });

describe("leased requests", () => {
  it("start while a slot is free and are full beyond", () => {
    const { breaker, started, entrant } = setup(2);
    expect(breaker.admitLeased(entrant("a"), UNORDERED)).toBe("started");
    expect(breaker.admitLeased(entrant("b"), UNORDERED)).toBe("started");
    expect(breaker.admitLeased(entrant("c"), UNORDERED)).toBe("full");
    expect(started).toEqual(["a", "b"]);
  });

  it("are never limited at 0", () => {
    const { breaker, entrant } = setup(0);
    for (let i = 0; i < 1_000; i += 1) {
      expect(breaker.admitLeased(entrant(String(i)), UNORDERED)).toBe("started");
    }
    expect(breaker.active).toBe(1_000);
  });

  it("wait in order of urgency where a local queue is on", () => {
    const { breaker, started, entrant } = setup(1);
    breaker.setLocal(2, Infinity);
    breaker.admitLeased(entrant("running"), UNORDERED);
    expect(breaker.admitLeased(entrant("late"), order(200))).toBe("queued");
    expect(breaker.admitLeased(entrant("soon"), order(100))).toBe("queued");
    expect(breaker.admitLeased(entrant("third"), order(1))).toBe("full");
    breaker.release();
    breaker.release();
    expect(started).toEqual(["running", "soon", "late"]);
  });

  it("find no slot that the container keeps busy", () => {
    const { breaker, started, entrant } = setup(1);
    breaker.setOccupied(1);
    expect(breaker.admitLeased(entrant("a"), UNORDERED)).toBe("full");
    breaker.setOccupied(0);
    expect(breaker.admitLeased(entrant("b"), UNORDERED)).toBe("started");
    expect(started).toEqual(["b"]);
  });
});

describe("foreign requests", () => {
  it.each([
    { limit: 1, accepted: 11 },
    { limit: 3, accepted: 33 },
  ])("are $accepted at a limit of $limit, the next is refused", ({ limit, accepted }) => {
    const { breaker, started, entrant } = setup(limit);
    const admissions = Array.from({ length: accepted + 1 }, (_, i) =>
      breaker.admitForeign(entrant(String(i))),
    );
    expect(admissions.filter((a) => a !== "full")).toHaveLength(accepted);
    expect(admissions.at(-1)).toBe("full");
    expect(started).toHaveLength(limit);
  });

  it("start in order of arrival, and one that left never does", () => {
    const { breaker, started, entrant } = setup(1);
    breaker.admitForeign(entrant("a"));
    const leaver = entrant("b");
    breaker.admitForeign(leaver);
    breaker.admitForeign(entrant("c"));
    expect(breaker.leave(leaver)).toBe(true);
    expect(breaker.leave(leaver)).toBe(false);
    breaker.release();
    expect(started).toEqual(["a", "c"]);
    expect(breaker.waiting).toBe(0);
  });

  it("start when the container gives up an occupied slot", () => {
    const { breaker, started, entrant } = setup(1);
    breaker.setOccupied(1);
    expect(breaker.admitForeign(entrant("a"))).toBe("queued");
    breaker.setOccupied(0);
    expect(started).toEqual(["a"]);
  });
});

it("lets the two queues take turns", () => {
  const { breaker, started, entrant } = setup(1);
  breaker.setLocal(10, Infinity);
  breaker.admitLeased(entrant("running"), UNORDERED);
  for (const name of ["l1", "l2"]) breaker.admitLeased(entrant(name), UNORDERED);
  for (const name of ["f1", "f2"]) breaker.admitForeign(entrant(name));
  for (let i = 0; i < 4; i += 1) breaker.release();
  expect(started).toEqual(["running", "l1", "f1", "l2", "f2"]);
});

it("never runs more than the limit, and nobody waits beside a free slot", () => {
  const random = createRandom(7);
  const breaker = new Breaker(3, () => 0);
  breaker.setLocal(4, Infinity);
  let running = 0;
  let occupied = 0;
  const waiting: Entrant[] = [];
  const entrant = (): Entrant => ({ start: () => void (running += 1) });
  const keep = (made: Entrant, admission: string) => {
    if (admission === "queued") waiting.push(made);
  };
  const actions: readonly (() => void)[] = [
    () => {
      const made = entrant();
      keep(made, breaker.admitForeign(made));
    },
    () => {
      const made = entrant();
      keep(made, breaker.admitLeased(made, order(Math.floor(random() * 100))));
    },
    () => {
      if (running === 0) return;
      running -= 1;
      breaker.release();
    },
    () => {
      const leaver = waiting.pop();
      if (leaver !== undefined) breaker.leave(leaver);
    },
    () => {
      if (running + occupied < 3) breaker.setOccupied((occupied += 1));
    },
    () => breaker.setOccupied((occupied = Math.max(0, occupied - 1))),
  ];
  for (let step = 0; step < 5_000; step += 1) {
    actions[Math.floor(random() * actions.length)]?.();
    expect(running).toBe(breaker.active);
    expect(running + occupied).toBeLessThanOrEqual(3);
    if (running + occupied < 3) expect(breaker.waiting).toBe(0);
  }
});
