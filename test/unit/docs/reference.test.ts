/** The reference pages against the code, in both directions: nothing missing, nothing extra. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WIRE_REASONS } from "../../../common/contracts/wire-reasons.ts";
import { ERROR_CODES } from "../../../common/errors.ts";

const page = (name: string): string =>
  readFileSync(join(import.meta.dirname, "../../../docs/reference", name), "utf8");

/** Cells of the table rows whose first cell is a name in backticks, of one section. */
function rowsOf(text: string, heading: string): string[][] {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) ?? "";
  return [...section.matchAll(/^\| `([^`]+)` \|(.*)\|$/gm)].map((match) => [
    match[1] ?? "",
    ...(match[2] ?? "").split("|").map((cell) => cell.trim()),
  ]);
}

describe("docs/reference/errors.md", () => {
  const text = page("errors.md");

  it("lists exactly the reasons of the wire, with their statuses", () => {
    const documented = rowsOf(text, "Reasons on the wire").map(([name, http, grpc, repeat]) => [
      name,
      http,
      grpc,
      repeat,
    ]);
    const built = Object.entries(WIRE_REASONS).map(([name, reason]) => [
      name,
      String(reason.status),
      String(reason.grpcStatus),
      reason.repeatable ? "yes" : "no",
    ]);
    expect(documented.toSorted()).toEqual(built.toSorted());
  });

  it("lists exactly the codes, with whose mistake each is", () => {
    const documented = rowsOf(text, "Codes inside").map(([name, blame]) => [name, blame]);
    const built = Object.entries(ERROR_CODES).map(([name, kind]) => [name, kind.blame]);
    expect(documented.toSorted()).toEqual(built.toSorted());
  });
});
