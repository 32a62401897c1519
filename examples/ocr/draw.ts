/** Draws lines of text into a grey image: strokes with a round pen and smooth edges. */
import { GLYPHS } from "./glyphs.ts";
import type { Glyph, Stroke } from "./glyphs.ts";
import type { GreyImage } from "./png.ts";

const LETTER_GAP = 0.26;
const WORD_GAP = 0.34;
const PEN_WIDTH = 0.12;
const ARC_STEPS = 20;
const WHITE = 255;

export interface TextStyle {
  /** Height of a capital in pixels. */
  readonly capHeight: number;
  readonly lineHeight: number;
  readonly margin: number;
}

/** The image is as wide as its longest line and as high as its lines need. */
export function drawText(lines: readonly string[], style: TextStyle): GreyImage {
  const { capHeight, lineHeight, margin } = style;
  const widest = Math.max(...lines.map((line) => lineWidth(line)), 1);
  const width = Math.ceil(widest * capHeight + margin * 2);
  const height = Math.ceil(lines.length * lineHeight + margin * 2);
  const image = { width, height, pixels: new Uint8Array(width * height).fill(WHITE) };
  lines.forEach((line, index) => drawLine(image, line, margin + index * lineHeight, style));
  return image;
}

function lineWidth(line: string): number {
  let width = 0;
  for (const letter of line) width += advance(letter);
  return width;
}

function advance(letter: string): number {
  return letter === " " ? WORD_GAP + LETTER_GAP : glyphOf(letter).width + LETTER_GAP;
}

function glyphOf(letter: string): Glyph {
  const glyph = GLYPHS[letter];
  if (glyph === undefined) throw new Error(`No glyph for "${letter}"; add it to glyphs.ts.`);
  return glyph;
}

function drawLine(image: GreyImage, line: string, top: number, style: TextStyle): void {
  let x = style.margin;
  for (const letter of line) {
    for (const stroke of glyphOf(letter).strokes) {
      drawPolyline(image, points(stroke), { x, y: top, scale: style.capHeight });
    }
    x += advance(letter) * style.capHeight;
  }
}

function points(stroke: Stroke): number[] {
  const [kind, ...numbers] = stroke;
  return kind === "l" ? numbers : arcPoints(numbers);
}

function arcPoints([
  cx = 0,
  cy = 0,
  rx = 0,
  ry = 0,
  from = 0,
  to = 0,
]: readonly number[]): number[] {
  return Array.from({ length: ARC_STEPS + 1 }, (_, step) => {
    const angle = ((from + ((to - from) * step) / ARC_STEPS) * Math.PI) / 180;
    return [cx + rx * Math.cos(angle), cy + ry * Math.sin(angle)];
  }).flat();
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

function drawPolyline(image: GreyImage, path: readonly number[], place: Place): void {
  const px = (index: number): number => place.x + (path[index] ?? 0) * place.scale;
  const py = (index: number): number => place.y + (path[index] ?? 0) * place.scale;
  const radius = (PEN_WIDTH * place.scale) / 2;
  for (let index = 0; index + 3 < path.length; index += 2) {
    drawSegment(image, [px(index), py(index + 1), px(index + 2), py(index + 3)], radius);
  }
}

/** Darkness of a pixel is how far its centre lies inside the pen, cut to one pixel of edge. */
function drawSegment(
  image: GreyImage,
  [x1, y1, x2, y2]: readonly [number, number, number, number],
  radius: number,
): void {
  const reach = radius + 1;
  const lengthSquared = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
  for (let y = Math.floor(Math.min(y1, y2) - reach); y <= Math.max(y1, y2) + reach; y += 1) {
    for (let x = Math.floor(Math.min(x1, x2) - reach); x <= Math.max(x1, x2) + reach; x += 1) {
      if (x < 0 || x >= image.width || y < 0 || y >= image.height) continue;
      const along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / lengthSquared;
      const nearest = Math.min(1, Math.max(0, along));
      const distance = Math.hypot(x - x1 - nearest * (x2 - x1), y - y1 - nearest * (y2 - y1));
      const ink = Math.min(1, Math.max(0, radius + 0.5 - distance));
      const at = y * image.width + x;
      image.pixels[at] = Math.min(image.pixels[at] ?? WHITE, WHITE * (1 - ink));
    }
  }
}
