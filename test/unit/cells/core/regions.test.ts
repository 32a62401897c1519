/** Regions against cells, and whose book counts. */
import { describe, expect, it } from "vitest";
import { allows, homeCell, parseRegions, spansCells } from "../../../../cells/core/regions.ts";

const CELLS = [
  { name: "fra", region: "eu", tags: ["gdpr"] },
  { name: "ams", region: "eu", tags: ["gdpr"] },
  { name: "iad", region: "us", tags: [] },
];
const allowed = (regions: string): string[] =>
  CELLS.filter((cell) => allows(parseRegions(regions), cell)).map(({ name }) => name);

describe("regions", () => {
  it("name cells, regions and tags", () => {
    expect(allowed("iad")).toEqual(["iad"]);
    expect(allowed("eu")).toEqual(["fra", "ams"]);
    expect(allowed("gdpr, iad")).toEqual(["fra", "ams", "iad"]);
    expect(allowed("global")).toEqual(["fra", "ams", "iad"]);
    expect(allowed("mars")).toEqual([]);
  });

  it("are empty for a service of one cell", () => {
    expect(spansCells(parseRegions(""))).toBe(false);
    expect(spansCells(parseRegions("global"))).toBe(true);
  });

  it("give the home to the first cell named, whatever the order of the cells", () => {
    expect(homeCell(["iad", "eu"], CELLS, "fra")).toBe("iad");
    expect(homeCell(["eu"], CELLS, "iad")).toBe("ams");
    expect(homeCell(["eu"], CELLS.toReversed(), "iad")).toBe("ams");
    expect(homeCell(["global"], CELLS, "iad")).toBe("iad");
    expect(homeCell(["mars"], CELLS, "iad")).toBe("iad");
  });
});
