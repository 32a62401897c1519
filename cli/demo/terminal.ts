/**
 * What the demo draws: headings, one live progress line, bars. On a terminal the live line is
 * rewritten in place; elsewhere (a pipe, CI) it is printed when it changes, at most every 2 s.
 */
import type { WriteStream } from "node:tty";

const QUIET_EVERY_MS = 2_000;
const REDRAW_EVERY_MS = 100;
const USUAL_COLUMNS = 80;

export interface Terminal {
  line(text?: string): void;
  heading(text: string): void;
  /** Replaces the live line. */
  live(text: string): void;
  /** Ends the live line, leaving this text in its place. */
  settle(text: string): void;
  /** Width of the screen now; 80 where there is none. */
  columns(): number;
  readonly paint: Paint;
}

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly red: (text: string) => string;
  readonly cyan: (text: string) => string;
}

export function createTerminal(out: WriteStream | NodeJS.WriteStream): Terminal {
  const interactive = out.isTTY === true;
  const colour = interactive && process.env["NO_COLOR"] === undefined;
  let liveShown = false;
  let lastDrawnAt = -Infinity;
  let lastText = "";

  const clear = (): void => {
    if (liveShown) out.write("\r\u001b[2K");
    liveShown = false;
  };
  const line = (text = ""): void => {
    clear();
    out.write(`${text}\n`);
  };
  const paint = createPaint(colour);
  const columns = (): number => out.columns ?? USUAL_COLUMNS;

  return {
    columns,
    line,
    paint,
    heading: (text) => {
      line();
      line(paint.bold(text));
    },
    live: (text) => {
      const now = performance.now();
      const pause = interactive ? REDRAW_EVERY_MS : QUIET_EVERY_MS;
      if (now - lastDrawnAt < pause || (text === lastText && !interactive)) return;
      lastDrawnAt = now;
      lastText = text;
      if (!interactive) return void out.write(`${text}\n`);
      clear();
      out.write(text.slice(0, Math.max(20, columns() + escapeLength(text) - 1)));
      liveShown = true;
    },
    settle: (text) => line(text),
  };
}

/** `done` of `total` as a bar of block characters. */
export function bar(done: number, total: number, width = 24): string {
  const filled = total === 0 ? width : Math.round((Math.min(done, total) / total) * width);
  return `${"█".repeat(filled)}${"░".repeat(width - filled)}`;
}

function createPaint(colour: boolean): Paint {
  const wrap = (code: number) => (text: string) =>
    colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  return {
    bold: wrap(1),
    dim: wrap(2),
    red: wrap(31),
    green: wrap(32),
    yellow: wrap(33),
    cyan: wrap(36),
  };
}

/** Characters of a text that take no room on the screen. */
function escapeLength(text: string): number {
  // oxlint-disable-next-line no-control-regex -- the escape character is what is looked for
  return [...text.matchAll(/\u001b\[[0-9;]*m/g)].reduce((sum, match) => sum + match[0].length, 0);
}
