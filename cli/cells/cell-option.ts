/** The value of `--cells`: names, each with its round trip from the first. */
import { PlatformError } from "../../common/errors.ts";
import type { CellSpec } from "../../local/cells.ts";

const CELL = /^(?<name>[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?)(?:=(?<ms>\d{1,5})ms)?$/;
const MOST_CELLS = 20;

/** `eu,us=80ms,ap=200ms`. */
export function parseCells(text: string): readonly CellSpec[] {
  const cells = text.split(",").map((part) => {
    const groups = CELL.exec(part.trim())?.groups;
    if (groups?.["name"] === undefined) {
      throw new PlatformError(
        "ERR_USAGE",
        `--cells ${text}: "${part}" is no cell; expected names with round trips, e.g. eu,us=80ms,ap=200ms.`,
      );
    }
    return { name: groups["name"], roundTripMs: Number(groups["ms"] ?? 0) };
  });
  const names = new Set(cells.map(({ name }) => name));
  if (names.size < cells.length || cells.length < 2 || cells.length > MOST_CELLS) {
    throw new PlatformError(
      "ERR_USAGE",
      `--cells ${text}: expected 2 to ${MOST_CELLS} different names.`,
    );
  }
  return cells;
}
