/** Reads text from pages: `POST /read` with a PNG. Not ready before the model is in memory. */
import { HttpError, markReady, readBody, sendJson, serve } from "../serve.ts";
import type { Call } from "../serve.ts";
import { Reader } from "./reader.ts";
import type { Reading } from "./reader.ts";

const LARGEST_PAGE_BYTES = 20_000_000;
const PNG_SIGNATURE = "89504e470d0a1a0a";

const reader = new Reader(markReady);
/** How many pages this pod worked on at once: with containerConcurrency 1 never more than one. */
const count = { cur: 0, max: 0, hits: 0 };

serve({
  name: "ocr",
  routes: { "GET /ready": ready, "GET /count": sendCount, "POST /read": read },
  onStop: () => reader.close(),
});

function ready({ response }: Call): void {
  sendJson(response, reader.loaded ? 200 : 503, { loaded: reader.loaded });
}

function sendCount({ response }: Call): void {
  sendJson(response, 200, count);
}

async function read({ request, response, signal }: Call): Promise<void> {
  count.cur += 1;
  count.max = Math.max(count.max, count.cur);
  count.hits += 1;
  try {
    const png = await readBody(request, LARGEST_PAGE_BYTES);
    if (png.subarray(0, 8).toString("hex") !== PNG_SIGNATURE) {
      throw new HttpError(415, "The body is not a PNG image; send one as image/png.");
    }
    const startedAt = performance.now();
    const { text, confidence } = await recognise(png, signal);
    const ms = Math.round(performance.now() - startedAt);
    // Counted out before the answer goes: a caller may send its next page at once.
    count.cur -= 1;
    sendJson(response, 200, { text, ms, confidence, most_at_once: count.max });
  } catch (error) {
    count.cur -= 1;
    throw error;
  }
}

async function recognise(png: Buffer, signal: AbortSignal): Promise<Reading> {
  try {
    return await reader.read(png, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new HttpError(422, `The page could not be read: ${String(error)}`);
  }
}
