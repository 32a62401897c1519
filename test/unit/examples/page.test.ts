/** The drawn pages: same seed, same page; every letter that the words use has a glyph. */
import { describe, expect, it } from "vitest";
import { drawText } from "../../../examples/ocr/draw.ts";
import { GLYPHS } from "../../../examples/ocr/glyphs.ts";
import { makePage } from "../../../examples/ocr/make-page.ts";

describe("makePage", () => {
  it("gives the same page for the same seed and another one for another", () => {
    const page = makePage({ lines: 3, seed: 4 });
    expect(makePage({ lines: 3, seed: 4 }).png.equals(page.png)).toBe(true);
    expect(makePage({ lines: 3, seed: 5 }).lines).not.toEqual(page.lines);
  });

  it("refuses a letter that it cannot draw, by name", () => {
    const style = { capHeight: 10, lineHeight: 20, margin: 4 };
    expect(() => drawText(["é"], style)).toThrow('No glyph for "é"');
  });

  it("leaves ink inside the image for every glyph", () => {
    for (const letter of Object.keys(GLYPHS).filter((key) => key !== " ")) {
      const { pixels } = drawText([letter], { capHeight: 20, lineHeight: 40, margin: 6 });
      expect(
        pixels.some((pixel) => pixel < 64),
        letter,
      ).toBe(true);
    }
  });
});
