/**
 * The corpus through both fronts and through Node's own server: what the fast front accepts the safe
 * one accepts too, with the same bytes to the upstream, and the safe one accepts nothing that Node
 * refuses. Where the fast one is stricter it is listed.
 */
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type FrontPlayer,
  LAST_REQUEST,
  type Outcome,
  startFrontPlayer,
  startNodePlayer,
} from "../../support/front-player.ts";
import { CORPUS, STRICTER } from "../../support/request-corpus.ts";
import { readStrictly } from "../../support/strict-requests.ts";

let safe: FrontPlayer;
let raw: FrontPlayer;
let node: FrontPlayer;

beforeAll(async () => {
  [safe, raw] = [await startFrontPlayer("safe"), await startFrontPlayer("raw")];
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.end("ok"));
  });
  node = await startNodePlayer(server);
});

afterAll(async () => {
  for (const player of [safe, raw, node]) await player.stop();
});

/** Refused by Node's server for reasons of its own: bytes behind HTTP/1.0, 16 KiB of head. */
const NODE_ALONE: ReadonlySet<string> = new Set(["HTTP/1.0", "a thousand headers"]);

const isRefused = ({ statuses }: Outcome): boolean =>
  statuses.some((status) => status >= 400 && status < 500);

/** Node answers 400 also to a client that ends its side in the middle of a request. */
const isFirstRefused = ({ statuses, end }: Outcome): boolean =>
  end === "closed" && (statuses[0] ?? 0) >= 400;

/** Chunks may be cut elsewhere, and how much of a broken request was sent on is a matter of time. */
function comparable({ statuses, end, forwarded }: Outcome): unknown {
  return { statuses, end, requests: forwarded.flatMap((text) => readStrictly(text).requests) };
}

async function playAll(bytes: Buffer): Promise<{ safe: Outcome; raw: Outcome; node: Outcome }> {
  const pieces = [bytes, Buffer.from(LAST_REQUEST)];
  const play = async (patience: "usual" | "long") => ({
    safe: await safe.play(pieces, patience),
    raw: await raw.play(pieces, patience),
    node: await node.play(pieces, patience),
  });
  const outcomes = await play("usual");
  return Object.values(outcomes).some(({ end }) => end !== "closed") ? play("long") : outcomes;
}

describe("the fast front decides as the safe one", () => {
  it.each(CORPUS)("on %s", async (name, text) => {
    const outcomes = await playAll(Buffer.from(text, "latin1"));
    expect(outcomes.raw.end).not.toBe("never");
    for (const stream of outcomes.raw.forwarded) readStrictly(stream);
    if (STRICTER.has(name)) {
      expect(isRefused(outcomes.raw)).toBe(true);
      expect(isRefused(outcomes.safe)).toBe(false);
      return;
    }
    if (name === "a wish for h2c") {
      // Node's parser reads nothing behind a wish that is not granted, so the safe front closes.
      expect(outcomes.safe).toMatchObject({ statuses: [200], end: "closed" });
      expect(outcomes.raw).toMatchObject({ statuses: [200, 200], end: "closed" });
      return;
    }
    expect(comparable(outcomes.raw)).toEqual(comparable(outcomes.safe));
    if (isFirstRefused(outcomes.node) && !NODE_ALONE.has(name))
      expect(isRefused(outcomes.raw)).toBe(true);
  });
});

describe("the fast front decides alike however the bytes arrive", () => {
  const short = CORPUS.filter(([, text]) => text.length < 300);

  it.each(short)("on %s, byte by byte", async (_name, text) => {
    const bytes = Buffer.from(text + LAST_REQUEST, "latin1");
    const play = async (pieces: Buffer[]): Promise<unknown> => {
      const outcome = await raw.play(pieces);
      return comparable(outcome.end === "closed" ? outcome : await raw.play(pieces, "long"));
    };
    const whole = await play([bytes]);
    expect(await play(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(whole);
  });
});
