/** A page in the terminal that is drawn again and again until a key or a signal ends it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { CommandContext } from "./command.ts";

/** On a screen of its own, so that what stood in the terminal comes back at the end. */
const ENTER = "\u001B[?1049h\u001B[?25l";
const LEAVE = "\u001B[?25h\u001B[?1049l";
/** To the corner; each line wipes what was right of it, the last one what was below. */
const HOME = "\u001B[H";
const END_OF_LINE = "\u001B[K";
const BELOW = "\u001B[J";
const USUAL_ROWS = 24;

export interface LivePage {
  readonly page: () => Promise<string>;
  readonly everyMs: number;
}

export function isTerminal(): boolean {
  return process.stdout.isTTY && process.stdin.isTTY;
}

/** Rejects when a page cannot be made; the terminal is as before in any case. */
export async function showLive(
  context: CommandContext,
  { page, everyMs }: LivePage,
): Promise<void> {
  const stop = new AbortController();
  const offSignal = context.onSignal(() => stop.abort());
  const offKeys = onQuitKey(() => stop.abort());
  const write = (text: string): void => context.out.write(Buffer.from(text));
  write(ENTER);
  try {
    while (!stop.signal.aborted) {
      const { rows, columns } = process.stdout;
      write(frame(await page(), rows, columns));
      await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  } finally {
    write(LEAVE);
    offKeys();
    offSignal();
  }
}

/**
 * No more lines than the screen has, or it would scroll, and none that is longer, or it would take
 * two; some terminals do not say how large they are.
 */
export function frame(page: string, rows: number | undefined, columns?: number): string {
  const width = columns === undefined || columns === 0 ? Infinity : columns;
  const room = rows === undefined || rows === 0 ? USUAL_ROWS : rows;
  const lines = [...page.split("\n"), "", "q quits"].slice(0, Math.max(1, room - 1));
  return `${HOME}${lines.map((line) => `${cut(line, width)}${END_OF_LINE}\n`).join("")}${BELOW}`;
}

/** What is cut off is said to be. */
function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}>`;
}

/** In raw mode Ctrl-C is a key like any other. */
function onQuitKey(quit: () => void): () => void {
  const { stdin } = process;
  const onData = (keys: Buffer): void => {
    if (["q", "Q", "\u0003", "\u0004"].some((key) => keys.includes(key))) quit();
  };
  stdin.setRawMode(true);
  stdin.on("data", onData);
  return () => {
    stdin.off("data", onData);
    stdin.setRawMode(false);
    stdin.pause();
  };
}
