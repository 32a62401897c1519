/** To which activator a pod pushes first, and where it goes from there. */
import { describe, expect, it } from "vitest";
import { chooseSubset } from "../../../../common/activator-subset.ts";
import { orderActivators } from "../../../../queue-proxy/core/activator-order.ts";

const MEMBERS = Array.from({ length: 8 }, (_, index) => `10.244.0.${10 + index}`);
const PODS = Array.from({ length: 1_000 }, (_, index) => `echo-00001-deployment-${index}`);
const REVISION = "echo-00001";

const favourite = (members: readonly string[], count: number, pod: string): string =>
  orderActivators(members, { count, revision: REVISION, pod })[0] ?? "";

describe("the order of activators for a pod", () => {
  it("has those that serve the revision first, then all others", () => {
    const part = new Set(chooseSubset(MEMBERS, 3, REVISION));
    for (const pod of PODS.slice(0, 50)) {
      const order = orderActivators(MEMBERS, { count: 3, revision: REVISION, pod });
      expect(new Set(order.slice(0, 3))).toEqual(part);
      expect(order.toSorted()).toEqual(MEMBERS);
    }
  });

  it("spreads pods evenly over the part", () => {
    const counts = new Map<string, number>();
    for (const pod of PODS) {
      const first = favourite(MEMBERS, 4, pod);
      counts.set(first, (counts.get(first) ?? 0) + 1);
    }
    expect(counts.size).toBe(4);
    for (const count of counts.values()) {
      expect(count).toBeGreaterThan(200);
      expect(count).toBeLessThan(300);
    }
  });

  it("moves only the pods of the one that goes, and a fair part when one is added", () => {
    const gone = favourite(MEMBERS, 0, PODS[0] ?? "");
    const others = MEMBERS.filter((member) => member !== gone);
    const moved = PODS.filter((pod) => favourite(MEMBERS, 0, pod) !== favourite(others, 0, pod));
    expect(moved.every((pod) => favourite(MEMBERS, 0, pod) === gone)).toBe(true);
    expect(moved.length).toBeLessThan(170);
  });

  it("answers nothing where no activator is known", () => {
    expect(orderActivators([], { count: 2, revision: REVISION, pod: "a" })).toEqual([]);
  });
});
