/**
 * Small messages leave at the end of the turn of the event loop in which they were made, those of
 * all connections one behind the other. A write wakes whoever waits for it, often on another core;
 * written in a row, the first one wakes and the others find it awake.
 */

export interface LateWriter {
  /** Writes what waits, if it still waits. */
  writeNow(): void;
}

let waiting: LateWriter[] = [];

/** Calls `writeNow` when all that is ready in this turn was read. */
export function writeAtTurnEnd(writer: LateWriter): void {
  if (waiting.length === 0) setImmediate(writeAll);
  waiting.push(writer);
}

function writeAll(): void {
  const writers = waiting;
  waiting = [];
  let written = 0;
  try {
    for (; written < writers.length; written += 1) writers[written]?.writeNow();
  } finally {
    // A fault of one must not keep the others.
    for (const writer of writers.slice(written + 1)) writeAtTurnEnd(writer);
  }
}
