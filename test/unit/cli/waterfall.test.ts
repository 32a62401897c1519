/** The cold-start timeline: parts without gaps, the platform's own share, drawing within its width. */
import { describe, expect, it } from "vitest";
import {
  drawWaterfall,
  partsOf,
  percentile,
  platformShareMs,
} from "../../../cli/demo/waterfall.ts";
import type { ColdStartRecord } from "../../../common/contracts/channels.ts";

const record: ColdStartRecord = {
  revision: "default/echo-00001",
  service: "echo",
  requestId: "r",
  podUid: "u",
  requestAt: 1_000,
  decidedAt: 1_012,
  spawnedAt: 1_015,
  sidecarAt: 1_060,
  listeningAt: 1_115,
  readyAt: 1_120,
  dispatchedAt: 1_124,
  firstByteAt: 1_130,
};

describe("partsOf", () => {
  it("covers the time from request to first byte without a gap", () => {
    const parts = partsOf(record);
    expect(parts.map(({ name, fromMs, toMs }) => [name, fromMs, toMs])).toEqual([
      ["decide", 0, 12],
      ["create", 12, 15],
      ["boot", 15, 115],
      ["load", 115, 120],
      ["dispatch", 120, 124],
      ["answer", 124, 130],
    ]);
  });

  it("skips unknown instants and never runs backwards", () => {
    const parts = partsOf({ ...record, decidedAt: null, spawnedAt: 990 });
    expect(parts[0]).toEqual({ name: "create", fromMs: 0, toMs: 0, owner: "platform" });
    expect(parts[1]).toMatchObject({ name: "boot", fromMs: 0, toMs: 115 });
  });
});

describe("platformShareMs", () => {
  const rows = [
    { name: "leaves out the container's exec to ready", record, readyAt: 1_118, wanted: 21 },
    { name: "counts what the sidecar took to notice", record, readyAt: 1_060, wanted: 79 },
    {
      name: "never counts a container that was ready after the dispatch",
      record,
      readyAt: 9_999,
      wanted: 15,
    },
    { name: "is unknown when the container does not say", record, readyAt: 0, wanted: null },
    {
      name: "is unknown for a pod that was already starting",
      record: { ...record, spawnedAt: 900 },
      readyAt: 1_118,
      wanted: null,
    },
  ];
  for (const row of rows) {
    it(row.name, () => expect(platformShareMs(row.record, row.readyAt)).toBe(row.wanted));
  }
});

it("draws each part inside the width", () => {
  const lines = drawWaterfall(record, { width: 40 });
  expect(lines).toHaveLength(6);
  for (const line of lines) expect(line.replaceAll(/[^·█▒░]/g, "")).toHaveLength(40);
  expect(lines[2]).toContain("100 ms");
});

it("paints the block of a part, and nothing beside it", () => {
  const mark = (text: string): string => `<${text}>`;
  const paint = { platform: mark, container: mark, answer: mark };
  for (const line of drawWaterfall(record, { width: 40, paint })) {
    expect(line).toMatch(/^[a-z]+ +·*<[█▒░]+>·* +[0-9.]+ ms$/);
  }
});

it("takes nearest-rank percentiles", () => {
  expect(percentile([5, 1, 3], 0.5)).toBe(3);
  expect(percentile([5, 1, 3], 0.95)).toBe(5);
  expect(percentile([], 0.5)).toBe(0);
});
