/** How much of a service's pods a cell asks for. */
import { describe, expect, it } from "vitest";
import { wishedShare } from "../../../../cells/core/share-plan.ts";

describe("the share that a cell wishes", () => {
  it.each([
    { words: "room for a first start", wanted: 0, inUse: 0, room: 1, max: 4, wish: 1 },
    { words: "no room on top of pods", wanted: 1, inUse: 1, room: 1, max: 4, wish: 1 },
    { words: "what the load asks for", wanted: 3, inUse: 1, room: 1, max: 4, wish: 3 },
    { words: "pods that are not gone yet", wanted: 0, inUse: 2, room: 1, max: 4, wish: 2 },
    { words: "no more than max", wanted: 9, inUse: 1, room: 1, max: 4, wish: 4 },
    { words: "without a limit", wanted: 9, inUse: 1, room: 1, max: 0, wish: 9 },
  ])("$words: $wish", ({ wish, ...given }) => {
    expect(wishedShare({ ...given, holds: 0, isAllowed: true })).toBe(wish);
  });

  it("is nothing where the service may not run", () => {
    const wish = { wanted: 3, inUse: 0, room: 1, holds: 0, max: 4, isAllowed: false };
    expect(wishedShare(wish)).toBe(0);
  });
});
