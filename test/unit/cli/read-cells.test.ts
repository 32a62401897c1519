import { describe, expect, it } from "vitest";
import { CELL_REASONS } from "../../../cells/core/choose-cell.ts";
import { choicesInWords } from "../../../cli/cells/read-cells.ts";
import type { CellsPage } from "../../../common/contracts/cells-page.ts";
import { CELL_REASON_WORDS } from "../../../common/contracts/cells-page.ts";

const PAGE: CellsPage = {
  own: "eu",
  faults: [],
  cells: [],
  spills: [],
  choices: [
    {
      at: Date.UTC(2026, 10, 30, 8, 5, 9),
      service: "default/ocr",
      cell: "us",
      expects: "warm",
      words: "",
      verdicts: [
        { cell: "eu", reason: "not-warm", expectedMs: null },
        { cell: "us", reason: "chosen", expectedMs: 82 },
        { cell: "asia", reason: "farther", expectedMs: 204 },
      ],
    },
    {
      at: Date.UTC(2026, 10, 30, 8, 6, 0),
      service: "default/ocr",
      cell: null,
      expects: "wait",
      words: "",
      verdicts: [{ cell: "us", reason: "too-old", expectedMs: null }],
    },
  ],
};

describe("the choices of a service in words", () => {
  it("names the cell and what was expected there, and says of every cell why", () => {
    expect(choicesInWords(PAGE, "default/ocr", 10)).toBe(
      [
        "08:05:09 cell us, for a free slot",
        "eu            no slot is free there",
        "us    82 ms   chosen",
        "asia  204 ms  a slot is free there too, but farther away",
        "08:06:00 no cell can serve",
        "us    nothing was heard of it for more than 3 s",
      ].join("\n"),
    );
  });

  it("are the newest, and of that service only", () => {
    expect(choicesInWords(PAGE, "default/ocr", 1)).toMatch(/^08:06:00/);
    expect(choicesInWords(PAGE, "default/other", 10)).toBe("");
  });
});

it("has words for every reason that a choice gives", () => {
  expect(Object.keys(CELL_REASON_WORDS).toSorted()).toEqual([...CELL_REASONS].toSorted());
});
