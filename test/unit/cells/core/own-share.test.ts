/** What a cell keeps of a share, and for whom. */
import { describe, expect, it } from "vitest";
import { OwnShare, roomOf } from "../../../../cells/core/own-share.ts";

describe("what a cell holds when its life begins", () => {
  it.each([
    { record: null, running: 0, holds: 0 },
    { record: null, running: 3, holds: 3 },
    { record: 5, running: 3, holds: 5 },
    { record: 2, running: 3, holds: 3 },
  ])("is $holds with $record on record and $running running", ({ record, running, holds }) => {
    const state = record === null ? null : { holds: record, number: 4, home: "eu" };
    expect(new OwnShare(state, running).holds).toBe(holds);
  });
});

describe("room for a first start", () => {
  it.each([
    { words: "one pod in each cell", max: 3, isHome: false, buffer: 0, room: 1 },
    { words: "no limit", max: 0, isHome: false, buffer: 0, room: 1 },
    { words: "too few for all, at home", max: 2, isHome: true, buffer: 0, room: 1 },
    { words: "too few for all, elsewhere", max: 2, isHome: false, buffer: 0, room: 0 },
    { words: "spare pods are kept here", max: 2, isHome: false, buffer: 2, room: 2 },
    { words: "spare pods are kept here, and enough", max: 9, isHome: false, buffer: 2, room: 2 },
  ])("$words: $room", ({ max, isHome, buffer, room }) => {
    expect(roomOf({ buffer, max, cells: 3, isHome })).toBe(room);
  });
});
