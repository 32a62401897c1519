/** The choice of activators against Knative's own, and what it promises when members change. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chooseSubset } from "../../../common/activator-subset.ts";

interface Vector {
  readonly members: readonly string[];
  readonly count: number;
  readonly target: string;
  readonly chosen: readonly string[];
}

/** Written by `ChooseSubset` of knative.dev/pkg/hash at 1cb33b33ddfe; two members collide in one. */
const VECTORS = JSON.parse(
  readFileSync(new URL("../../fixtures/activator-subset-golden.json", import.meta.url), "utf8"),
) as readonly Vector[];

const MEMBERS = Array.from({ length: 20 }, (_, index) => `10.244.${index % 4}.${10 + index}`);
const SERVICES = Array.from({ length: 10_000 }, (_, index) => `service-${index}-00001`);

describe("the choice of activators", () => {
  it.each(VECTORS)("is Knative's: $count of $members for $target", (vector) => {
    const chosen = chooseSubset(vector.members, vector.count, vector.target);
    expect(chosen.toSorted()).toEqual(vector.chosen);
  });

  it("is all of them for 0, and does not care for their order", () => {
    expect(chooseSubset(MEMBERS, 0, "a")).toHaveLength(MEMBERS.length);
    const reversed = chooseSubset(MEMBERS.toReversed(), 3, "a");
    expect(reversed).toEqual(chooseSubset(MEMBERS, 3, "a"));
  });

  it("keeps the smaller part within the larger", () => {
    for (const service of SERVICES.slice(0, 200)) {
      const larger = new Set(chooseSubset(MEMBERS, 6, service));
      for (const member of chooseSubset(MEMBERS, 2, service)) expect(larger).toContain(member);
    }
  });

  it("gives each of 20 activators about a tenth of 10,000 services", () => {
    const parts = partsOf(MEMBERS);
    const mean = (2 * SERVICES.length) / MEMBERS.length;
    for (const member of MEMBERS) {
      expect(parts.get(member)).toBeGreaterThan(mean * 0.7);
      expect(parts.get(member)).toBeLessThan(mean * 1.3);
    }
  });

  it("moves few services when one of 20 goes", () => {
    const [gone = "", ...others] = MEMBERS;
    let moved = 0;
    for (const service of SERVICES.slice(0, 1_000)) {
      const after = new Set(chooseSubset(others, 2, service));
      const before = chooseSubset(MEMBERS, 2, service).filter((member) => member !== gone);
      moved += before.filter((member) => !after.has(member)).length;
    }
    expect(moved).toBeLessThan(0.05 * 2 * 1_000);
  });
});

function partsOf(members: readonly string[]): ReadonlyMap<string, number> {
  const parts = new Map<string, number>();
  for (const service of SERVICES) {
    for (const member of chooseSubset(members, 2, service)) {
      parts.set(member, (parts.get(member) ?? 0) + 1);
    }
  }
  return parts;
}
