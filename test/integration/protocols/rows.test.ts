/**
 * The rows of `npm run test:protocols` that are quick, on the same stage of real processes: what
 * passes through activator and queue-proxy, and through the queue-proxy alone.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PATHS } from "../../protocols/row.ts";
import { HTTP1_ROWS } from "../../protocols/rows/http1.ts";
import { HTTP2_ROWS } from "../../protocols/rows/http2.ts";
import { INTEGRITY_ROWS } from "../../protocols/rows/integrity.ts";
import { STREAM_ROWS } from "../../protocols/rows/streams.ts";
import { Stage } from "../../protocols/stage.ts";

/** Gigabytes and floods are left to the proof. */
const HEAVY = /GiB|40 times|slow chunked|rapid|flood/;
const QUICK = [...HTTP1_ROWS, ...STREAM_ROWS, ...HTTP2_ROWS, ...INTEGRITY_ROWS].filter(
  ({ row }) => !HEAVY.test(row),
);

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  const { isAlive } = stage;
  await stage.close();
  expect(isAlive).toBe(true);
});

describe.each(PATHS)("through %s", (path) => {
  it.each(QUICK.filter(({ only }) => only === undefined || only === path))("$row", async (row) => {
    await row.run(stage.place(path));
  });
});
