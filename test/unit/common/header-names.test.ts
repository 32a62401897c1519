import { describe, expect, it } from "vitest";
import { HeaderNames, headerNames, isHeaderName } from "../../../common/header-names.ts";

describe("a set of header names", () => {
  it("finds a name in any spelling, and no other", () => {
    const names = new HeaderNames([
      ["host", 1],
      ["x-forwarded-for", 2],
    ]);
    expect(["Host", "HOST", "host"].map((name) => names.get(name))).toEqual([1, 1, 1]);
    expect(names.get("X-Forwarded-For")).toBe(2);
    // Same length and letter, same length, same letter.
    expect(["hopt", "post", "hosts", "", "("].map((name) => names.get(name))).toEqual(
      Array.from({ length: 5 }, () => undefined),
    );
  });

  it("is not misled by letters that share their last bits with a digit or a sign", () => {
    const names = headerNames(["a"]);
    expect(names.has("A")).toBe(true);
    expect(names.has("!")).toBe(false);
    expect(names.has("\u0101")).toBe(false);
  });

  it("takes names longer than any table", () => {
    const long = `x-${"y".repeat(200)}`;
    expect(headerNames([long]).has(long.toUpperCase())).toBe(true);
    expect(headerNames([long]).has(`${long}z`)).toBe(false);
  });
});

describe("two header names", () => {
  const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/;
  const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

  it("are the same in any spelling, and only then", () => {
    for (const lower of "abcxyz0189-~_!") {
      for (const found of characters.filter((character) => TOKEN.test(character))) {
        const isSame = found.toLowerCase() === lower;
        expect([found, lower, isHeaderName(`X${found}Y`, `x${lower}y`)]).toEqual([
          found,
          lower,
          isSame,
        ]);
      }
    }
  });

  it("are never the same at different lengths", () => {
    expect(isHeaderName("Hosts", "host")).toBe(false);
    expect(isHeaderName("Hos", "host")).toBe(false);
  });
});
