/** Races between replies, assignments, limits and callers, each order of events driven by hand. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WaitClock } from "../../../activator/core/deadlines.ts";
import { DegradedMode } from "../../../activator/degraded.ts";
import { Hold } from "../../../activator/hold.ts";
import { Returns } from "../../../activator/returns.ts";
import { RevisionEntry } from "../../../activator/revision-entry.ts";
import type { Refusal, Ticket, TicketHolder } from "../../../activator/ticket.ts";
import type { Assignment } from "../../../common/contracts/channels.ts";
import { createLogger } from "../../../foundation/logger.ts";
import type {
  AcquireRequest,
  AcquireResult,
  AskResult,
  Lease,
  RoutingStore,
} from "../../../store/types.ts";
import { revisionConfig } from "../../support/activator-bench.ts";

interface Call<Request, Result> {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** A store whose replies the test gives when it wants to. */
class HeldBackStore {
  readonly acquires: Call<AcquireRequest, AcquireResult>[] = [];
  readonly cancels: Call<string, boolean>[] = [];
  readonly asks: Call<string, AskResult>[] = [];
  readonly released: string[] = [];

  asStore(): RoutingStore {
    const calls: Partial<RoutingStore> = {
      acquireLease: (request) => queue(this.acquires, request),
      cancelTicket: (_revision, leaseId) => queue(this.cancels, leaseId),
      askTicket: (_revision, leaseId) => queue(this.asks, leaseId),
      releaseLease: ({ leaseId }) => {
        this.released.push(leaseId);
        return Promise.resolve();
      },
    };
    // Hold and Returns call nothing else.
    return calls as RoutingStore;
  }
}

function queue<Request, Result>(calls: Call<Request, Result>[], request: Request): Promise<Result> {
  return new Promise((resolve, reject) => calls.push({ request, resolve, reject }));
}

function at<T>(calls: readonly T[], index: number): T {
  const call = calls[index];
  if (call === undefined) throw new Error(`there was no call ${index}`);
  return call;
}

const clock = { now: () => Date.now() };
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

let store: HeldBackStore;
let hold: Hold;
let entry: RevisionEntry;
let granted: Lease[];
let refused: Refusal[];
let loads: number;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  store = new HeldBackStore();
  granted = [];
  refused = [];
  loads = 0;
  entry = new RevisionEntry("default/echo-00001", clock.now());
  entry.configure(revisionConfig({ queueTimeoutMs: 5_000, activationTimeoutMs: 60_000 }), 0);
  const logger = createLogger({ name: "test", level: "silent" });
  const degraded = new DegradedMode({ clock, podsOf: () => [] });
  let ids = 0;
  hold = new Hold({
    store: store.asStore(),
    returns: new Returns(store.asStore(), degraded, logger),
    degraded,
    activatorId: "a1",
    clock,
    random: () => 0.5,
    nextLeaseId: () => `l${(ids += 1)}`,
    load: () => (loads += 1),
  });
});

afterEach(() => {
  vi.useRealTimers();
});

function acquire(
  exclude: readonly string[] = [],
  pauseMs = 0,
  cells: Partial<TicketHolder> = {},
): Ticket {
  return hold.acquire({
    entry,
    clock: new WaitClock(clock.now()),
    holder: {
      admit: () => null,
      granted: (lease) => granted.push(lease),
      refused: (why) => refused.push(why),
      ...cells,
    },
    exclude,
    arrivedAt: 0,
    pauseMs,
  });
}

const lease = (leaseId: string): Lease => ({
  leaseId,
  targetUid: "u1",
  address: "10.0.0.1:8012",
  arrivedAt: 7,
  grantedAt: 9,
});
const leased = (leaseId: string): Extract<AcquireResult, AskResult> => ({
  kind: "leased",
  lease: lease(leaseId),
});
const waiting = (readyTargets: number): Extract<AcquireResult, AskResult> => ({
  kind: "waiting",
  arrivedAt: 7,
  readyTargets,
  waiting: 1,
});
const assignment = (leaseId: string): Assignment => ({
  revision: "default/echo-00001",
  ...lease(leaseId),
});

describe("an assignment", () => {
  it("that overtakes the reply is used, and the reply changes nothing", async () => {
    acquire();
    hold.assigned(entry, assignment("l1"));
    expect(granted).toHaveLength(1);
    at(store.acquires, 0).resolve(waiting(1));
    await settle();
    expect(granted).toHaveLength(1);
    expect(store.released).toEqual([]);
    expect(entry.leases.has("l1")).toBe(true);
  });

  it("that comes twice is used once", async () => {
    acquire();
    at(store.acquires, 0).resolve(waiting(1));
    await settle();
    hold.assigned(entry, assignment("l1"));
    hold.assigned(entry, assignment("l1"));
    expect(granted).toHaveLength(1);
    expect(store.released).toEqual([]);
  });

  it("for a caller who left is given back", async () => {
    const ticket = acquire();
    at(store.acquires, 0).resolve(waiting(1));
    await settle();
    hold.cancel(ticket);
    expect(store.released).toEqual(["l1"]);
    hold.assigned(entry, assignment("l1"));
    expect(store.released).toEqual(["l1", "l1"]);
    expect(granted).toEqual([]);
  });

  it("that was lost is found by asking, first after a second", async () => {
    acquire();
    at(store.acquires, 0).resolve(waiting(1));
    await settle();
    await vi.advanceTimersByTimeAsync(1_001);
    hold.askDue(entry);
    at(store.asks, 0).resolve(leased("l1"));
    await settle();
    expect(granted).toHaveLength(1);
  });

  it("of a ticket that the store forgot is asked for again, at its old place", async () => {
    acquire();
    at(store.acquires, 0).resolve(waiting(1));
    await settle();
    hold.askAll(entry);
    at(store.asks, 0).resolve({ kind: "gone" });
    await settle();
    expect(at(store.acquires, 1).request).toMatchObject({ leaseId: "l1", arrivedAt: 7 });
  });
});

describe("a request that may go to another cell", () => {
  let hasLeft = 0;
  const looking = (look: "now" | "before", prefersElsewhere: boolean): Ticket => {
    hasLeft = 0;
    return acquire([], 0, {
      looksElsewhere: () => look,
      prefersElsewhere: () => prefersElsewhere,
      left: () => (hasLeft += 1),
    });
  };

  it("leaves at once where it knows that nothing runs here, and the store never hears of it", async () => {
    const ticket = looking("now", true);
    expect(hasLeft).toBe(0);
    await settle();
    expect([hasLeft, store.acquires.length, ticket.isOpen, entry.tickets.size]).toEqual([
      1,
      0,
      false,
      0,
    ]);
  });

  it("is not sent away when its caller left in the same moment", async () => {
    hold.cancel(looking("now", true));
    await settle();
    expect(hasLeft).toBe(0);
  });

  it("asks for a free slot here first, and leaves without ever standing in the queue", async () => {
    looking("before", true);
    expect(at(store.acquires, 0).request.mayWait).toBe(false);
    at(store.acquires, 0).resolve({ kind: "no-slot" });
    await settle();
    expect([hasLeft, store.acquires.length, store.cancels.length]).toEqual([1, 1, 0]);
  });

  it("takes the free slot that is here", async () => {
    looking("before", true);
    at(store.acquires, 0).resolve(leased("l1"));
    await settle();
    expect([hasLeft, granted.length]).toEqual([0, 1]);
  });

  it("waits here when no cell is better after all, and asks no third time", async () => {
    looking("before", false);
    at(store.acquires, 0).resolve({ kind: "no-slot" });
    await settle();
    expect(at(store.acquires, 1).request.mayWait).toBe(true);
    at(store.acquires, 1).resolve(waiting(1));
    await settle();
    expect([hasLeft, store.acquires.length]).toEqual([0, 2]);
  });
});

describe("a caller who leaves while the store is asked", () => {
  it("has its slot given back when the reply comes", async () => {
    const ticket = acquire();
    hold.cancel(ticket);
    expect(store.released).toEqual([]);
    at(store.acquires, 0).resolve(leased("l1"));
    await settle();
    expect(store.released).toEqual(["l1"]);
    expect(granted).toEqual([]);
    expect(entry.tickets.size).toBe(0);
  });
});

describe("a call that failed", () => {
  it("is repeated under a new id, since the old one may be withdrawn", async () => {
    acquire();
    at(store.acquires, 0).reject(new Error("away"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(at(store.acquires, 1).request.leaseId).toBe("l2");
    at(store.acquires, 1).resolve(leased("l2"));
    await settle();
    expect(granted.map((one) => one.leaseId)).toEqual(["l2"]);
    expect([...entry.tickets.keys()]).toEqual([]);
  });

  it("is repeated until the limit, which then names the store", async () => {
    acquire();
    for (let n = 0; n < 60 && refused.length === 0; n += 1) {
      at(store.acquires, store.acquires.length - 1).reject(new Error("away"));
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(refused).toEqual([{ reason: "store_unavailable" }]);
    expect(store.acquires.length).toBeLessThan(20);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("limits", () => {
  it("of waiting and of starting are two clocks", async () => {
    acquire();
    at(store.acquires, 0).resolve(waiting(0));
    await settle();
    await vi.advanceTimersByTimeAsync(50_000);
    expect(store.cancels).toHaveLength(0);
    // A pod is ready now, but busy: the other clock runs, from the start.
    hold.askDue(entry);
    at(store.asks, 0).resolve(waiting(1));
    await settle();
    await vi.advanceTimersByTimeAsync(4_900);
    expect(store.cancels).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(200);
    at(store.cancels, 0).resolve(true);
    await settle();
    expect(refused).toEqual([{ reason: "queue_timeout" }]);
  });

  it("do not throw away a slot that was assigned in the same moment", async () => {
    acquire();
    at(store.acquires, 0).resolve(waiting(1));
    await settle();
    await vi.advanceTimersByTimeAsync(5_001);
    at(store.cancels, 0).resolve(false);
    await settle();
    at(store.asks, 0).resolve(leased("l1"));
    await settle();
    expect(granted).toHaveLength(1);
    expect(refused).toEqual([]);
  });

  it("hold when the store cannot be told: the place is withdrawn later", async () => {
    acquire();
    at(store.acquires, 0).resolve(waiting(0));
    await settle();
    await vi.advanceTimersByTimeAsync(60_001);
    at(store.cancels, 0).reject(new Error("away"));
    await settle();
    expect(refused).toEqual([{ reason: "activation_timeout" }]);
    expect(store.released).toEqual(["l1"]);
  });
});

describe("a failed target", () => {
  it("is avoided while another is free, else waited for like any other", async () => {
    acquire(["u1"]);
    expect(at(store.acquires, 0).request).toMatchObject({ exclude: ["u1"], mayWait: false });
    at(store.acquires, 0).resolve({ kind: "no-slot" });
    await settle();
    expect(at(store.acquires, 1).request).toMatchObject({ exclude: [], mayWait: true });
  });

  it("that failed before is not tried again at full speed", async () => {
    acquire(["u1"], 100);
    expect(store.acquires).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(101);
    expect(store.acquires).toHaveLength(1);
  });
});

describe("a revision without configuration", () => {
  it("is loaded, and its requests go on when it is there", async () => {
    entry.config = null;
    acquire();
    expect([loads, store.acquires.length]).toEqual([1, 0]);
    entry.configure(revisionConfig(), 0);
    hold.configured(entry);
    expect(store.acquires).toHaveLength(1);
  });

  it("ends with the store's reason when it never comes", async () => {
    entry.config = null;
    acquire();
    await vi.advanceTimersByTimeAsync(60_001);
    expect(refused).toEqual([{ reason: "store_unavailable" }]);
  });

  it("that the store has lost is loaded again", async () => {
    acquire();
    at(store.acquires, 0).resolve({ kind: "unknown-revision" });
    await settle();
    expect(loads).toBe(1);
    hold.configured(entry);
    expect(store.acquires).toHaveLength(2);
  });
});

describe("a start that cannot succeed", () => {
  it("ends those who wait for a first pod, not those who wait for a busy one", async () => {
    acquire();
    acquire();
    at(store.acquires, 0).resolve(waiting(0));
    await settle();
    at(store.acquires, 1).resolve(waiting(1));
    await settle();
    const failure = { reason: "CrashLoopBackOff", message: "exit 1" };
    entry.configure(revisionConfig({ failure }), 0);
    hold.configured(entry);
    expect(store.cancels.map((call) => call.request)).toEqual(["l1"]);
    at(store.cancels, 0).resolve(true);
    await settle();
    expect(refused).toEqual([{ reason: "activation_failed", failure }]);
  });
});
