/** Which slots are taken for callers that left, and which leases still run. */
import { describe, expect, it } from "vitest";
import { Occupancy, SETTLE_MS } from "../../../../queue-proxy/core/occupancy.ts";

describe("a container that never reports", () => {
  it("frees the slot with the request, however it ended", () => {
    const occupancy = new Occupancy();
    occupancy.begin("a");
    expect(occupancy.stillRunning(["a", "b"], 0)).toEqual(["a"]);
    occupancy.end("a", "cancelled", 0);
    expect(occupancy.occupied(0)).toBe(0);
    expect(occupancy.stillRunning(["a"], 0)).toEqual([]);
    expect(occupancy.reportsRunning).toBe(false);
  });
});

describe("a container that reports", () => {
  function reporting(): Occupancy {
    const occupancy = new Occupancy();
    occupancy.report(0, 0);
    occupancy.begin("a");
    occupancy.report(1, 0);
    return occupancy;
  }

  it("keeps the slot and the lease of a caller that left until it says so", () => {
    const occupancy = reporting();
    occupancy.end("a", "cancelled", 10);
    expect(occupancy.occupied(10)).toBe(1);
    expect(occupancy.stillRunning(["a"], 10)).toEqual(["a"]);
    expect(occupancy.occupied(60_000)).toBe(1);
    occupancy.report(0, 60_000);
    expect(occupancy.occupied(60_000)).toBe(0);
    expect(occupancy.stillRunning(["a"], 60_000)).toEqual([]);
  });

  it("does not count a slot taken while its report of a normal end is on the way", () => {
    const occupancy = reporting();
    occupancy.end("a", "answered", 10);
    expect(occupancy.occupied(10)).toBe(0);
    expect(occupancy.nextChangeAt()).toBe(10 + SETTLE_MS);
    // It never came: the container works on by itself.
    expect(occupancy.occupied(10 + SETTLE_MS)).toBe(1);
  });

  it("keeps the slot of a cancelled request whose start it has not reported yet", () => {
    const occupancy = new Occupancy();
    occupancy.report(0, 0);
    occupancy.begin("a");
    occupancy.end("a", "cancelled", 10);
    expect(occupancy.occupied(10)).toBe(1);
    occupancy.report(1, 12);
    expect(occupancy.occupied(1_000)).toBe(1);
    occupancy.report(0, 1_000);
    expect(occupancy.occupied(1_000)).toBe(0);
  });

  it("gives the slot back when no report ever counts the cancelled request", () => {
    const occupancy = new Occupancy();
    occupancy.report(0, 0);
    occupancy.begin("a");
    occupancy.end("a", "cancelled", 10);
    expect(occupancy.nextChangeAt()).toBe(10 + SETTLE_MS);
    expect(occupancy.occupied(10 + SETTLE_MS)).toBe(0);
  });

  it("counts work that nobody asked for as taken", () => {
    const occupancy = new Occupancy();
    occupancy.report(3, 0);
    expect(occupancy.occupied(0)).toBe(3);
    occupancy.begin("a");
    expect(occupancy.occupied(0)).toBe(2);
  });

  it("drops the oldest cancelled lease first when fewer run", () => {
    const occupancy = new Occupancy();
    occupancy.report(0, 0);
    for (const lease of ["a", "b"]) occupancy.begin(lease);
    occupancy.report(2, 0);
    occupancy.end("a", "cancelled", 1);
    occupancy.end("b", "cancelled", 2);
    occupancy.report(1, 3);
    expect(occupancy.stillRunning(["a", "b"], 3)).toEqual(["b"]);
    expect(occupancy.occupied(3)).toBe(1);
  });
});
