/**
 * Makes a page of readable text as a PNG, always the same for the same seed, large enough to cost
 * an OCR model seconds. As a program: `node make-page.ts [LINES] [SEED] > page.png`.
 */
import { pathToFileURL } from "node:url";
import { drawText } from "./draw.ts";
import { encodePng } from "./png.ts";

const WORDS = (
  "the quick scheduler found a free slot and started one more pod while every waiting request " +
  "kept its place in line then model weights moved from disk to memory before first light came " +
  "back people read these pages with care because each word costs time on a busy card so please " +
  "count them twice and share what you learn about queues budgets workflows pilots engines zero"
).split(" ");

const LINE_LETTERS = 58;
const STYLE = { capHeight: 26, lineHeight: 52, margin: 60 };

export interface PageOptions {
  readonly lines?: number;
  /** Chooses the words; the same seed gives the same page. */
  readonly seed?: number;
}

export interface Page {
  readonly png: Buffer;
  /** What is written on it. */
  readonly lines: readonly string[];
}

export function makePage({ lines: count = 30, seed = 1 }: PageOptions = {}): Page {
  const nextWord = wordSource(seed);
  const lines = Array.from({ length: count }, (_, index) =>
    index === 0 ? `Page ${seed} of Pilotlight` : makeLine(nextWord),
  );
  return { png: encodePng(drawText(lines, STYLE)), lines };
}

function makeLine(nextWord: () => string): string {
  let line = capitalised(nextWord());
  for (;;) {
    const word = nextWord();
    if (line.length + word.length + 2 > LINE_LETTERS) return `${line}.`;
    line += ` ${word}`;
  }
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** A linear congruential generator: enough to vary words, and the same everywhere. */
function wordSource(seed: number): () => string {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return WORDS[Math.floor((state / 2 ** 32) * WORDS.length)] ?? "zero";
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [lines, seed] = process.argv.slice(2).map(Number);
  process.stdout.write(makePage({ lines: lines || 30, seed: seed || 1 }).png);
}
