import { describe, expect, it } from "vitest";
import type { WireReasonName } from "../../../../common/contracts/wire-reasons.ts";
import { CellCall } from "../../../../activator/spills/cell-call.ts";
import { IncomingHop } from "../../../../activator/spills/incoming-hop.ts";

const HOP = new IncomingHop("eu", {
  spill: "wait",
  waitMs: 1_000,
  deadlineMs: Number.POSITIVE_INFINITY,
  namespace: "default",
  revision: "echo-00001",
  tenant: "",
  plan: "",
});

const ROWS: readonly (readonly [string, CellCall, WireReasonName, number, WireReasonName])[] = [
  ["a request of this cell", new CellCall(), "queue_full", 0, "queue_full"],
  ["a hop that nobody saw", new CellCall(undefined, HOP), "queue_full", 0, "spill_refused"],
  // The other cell would take a refusal as undelivered, and send the request elsewhere.
  ["a hop that may have run", new CellCall(undefined, HOP), "queue_full", 1, "upstream_reset"],
  [
    "a hop at the end of its time",
    new CellCall(undefined, HOP),
    "queue_timeout",
    0,
    "queue_timeout",
  ],
];

describe("the reason that is told", () => {
  it.each(ROWS)("of %s", (_name, ...row) => {
    const [cells, found, delivered, told] = row;
    expect(cells.reasonFor(found, delivered)).toBe(told);
  });
});
