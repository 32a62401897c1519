/** test/README.md against the files: what it names as a proof is there, and nothing is left out. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readPage, sectionOf } from "./tables.ts";

const REPOSITORY = join(import.meta.dirname, "../../..");
const PAGE = readFileSync(join(REPOSITORY, "test/README.md"), "utf8");

interface Proof {
  readonly path: string;
  /** Words that stand in the file; empty where the whole file is the proof. */
  readonly words: string;
}

/** Cells of each row of a section, without its head. */
function rows(heading: string): string[][] {
  const lines = sectionOf(PAGE, heading)
    .split("\n")
    .filter((line) => line.startsWith("| "));
  return lines.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function proofsIn(cell: string): readonly Proof[] {
  return cell.split("<br>").map((part) => {
    const match = /^`([^`]+)`(?: “(.+)”)?$/.exec(part.trim());
    if (match === null) throw new Error(`"${part}" names no file`);
    return { path: match[1] ?? "", words: match[2] ?? "" };
  });
}

function textOf(path: string): string {
  const file = join(REPOSITORY, path.startsWith("bench/") ? path : `test/${path}`);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

const numbers = (letter: string, last: number, digits: number): readonly string[] =>
  Array.from({ length: last }, (_, index) => letter + String(index + 1).padStart(digits, "0"));

describe.each(["Requirements", "Field reports", "Cells", "Seen of stock Knative"])(
  "%s",
  (heading) => {
    it.each(rows(heading).map((cells) => [cells[0] ?? "", cells.at(-1) ?? ""]))(
      "%s is proven where the page says",
      (_name, cell) => {
        for (const { path, words } of proofsIn(cell)) {
          const text = textOf(path);
          expect(text, path).not.toBe("");
          expect(text.includes(words), `${path} has “${words}”`).toBe(true);
        }
      },
    );
  },
);

describe("the page", () => {
  it("has every requirement and every field report, in order", () => {
    expect(rows("Requirements").map(([name]) => name)).toEqual(numbers("R", 15, 1));
    expect(rows("Field reports").map(([name]) => name)).toEqual(numbers("F", 30, 2));
  });

  it("names departures by their rows in the reference", () => {
    const stock = sectionOf(readPage("differences.md"), "From stock Knative");
    for (const [, departure = ""] of rows("Seen of stock Knative")) {
      if (departure !== "") expect(stock, departure).toContain(`\n| ${departure} |`);
    }
  });
});
