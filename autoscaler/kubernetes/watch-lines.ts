/** The body of a watch, cut into its events: one JSON object per line, each of a bounded length. */
import type { Readable } from "node:stream";

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** Etcd takes 1.5 MB per object; more than this is no event. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Ends with the body; throws on a line that is no event. */
export async function* watchEvents<T>(body: Readable): AsyncGenerator<WatchEvent<T>> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    // A readable without encoding yields buffers.
    let rest = piece as Buffer;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]).toString("utf8");
      [parts, length] = [[], 0];
      rest = rest.subarray(end + 1);
      if (line.trim() !== "") yield JSON.parse(line) as WatchEvent<T>;
    }
    if (rest.length === 0) continue;
    parts.push(rest);
    length += rest.length;
    if (length > MAX_LINE_BYTES) throw new Error(`an event is longer than ${MAX_LINE_BYTES} bytes`);
  }
}
