/** Reads the tables of reference pages, so that tests can hold them against the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export function readPage(name: string): string {
  return readFileSync(join(import.meta.dirname, "../../../docs/reference", name), "utf8");
}

/** Text between a heading of level two and the next one. */
export function sectionOf(text: string, heading: string): string {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`The page has no section "${heading}"`);
  return section;
}

/** Cells of the rows whose first cell is a name in backticks; the name comes without them. */
export function rowsOf(text: string, heading: string): string[][] {
  return [...sectionOf(text, heading).matchAll(/^\| `([^`]+)` \|(.*)\|$/gm)].map((match) => [
    match[1] ?? "",
    ...(match[2] ?? "").split("|").map((cell) => cell.trim()),
  ]);
}

/** What stands in backticks, in order. */
export function quotedIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
}

/** In the order of their text, for comparing lists whose order says nothing. */
export function sorted<T>(items: Iterable<T>): T[] {
  return [...items].toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}

function keyOf(item: unknown): string {
  return JSON.stringify(item);
}
