/** docs/reference/errors.md against the code, in both directions: nothing missing, nothing extra. */
import { describe, expect, it } from "vitest";
import { WIRE_REASONS } from "../../../common/contracts/wire-reasons.ts";
import { ERROR_CODES } from "../../../common/errors.ts";
import { readPage, rowsOf, sorted } from "./tables.ts";

describe("docs/reference/errors.md", () => {
  const text = readPage("errors.md");

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
    expect(sorted(documented)).toEqual(sorted(built));
  });

  it("lists exactly the codes, with whose mistake each is", () => {
    const documented = rowsOf(text, "Codes inside").map(([name, blame]) => [name, blame]);
    const built = Object.entries(ERROR_CODES).map(([name, kind]) => [name, kind.blame]);
    expect(sorted(documented)).toEqual(sorted(built));
  });
});
