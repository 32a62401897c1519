/** The OCR example as a real process with the real model. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePage } from "../../../examples/ocr/make-page.ts";
import { Reader } from "../../../examples/ocr/reader.ts";
import { eventually } from "../../support/eventually.ts";
import { startExample } from "../../support/examples.ts";
import type { ExampleProcess } from "../../support/examples.ts";

let ocr: ExampleProcess;
beforeAll(async () => {
  ocr = await startExample("ocr");
});
afterAll(async () => {
  expect(await ocr.stop()).toBe(0);
});

const send = (png: Buffer, init: RequestInit = {}): Promise<Response> =>
  fetch(`${ocr.url}/read`, {
    method: "POST",
    headers: { "content-type": "image/png" },
    body: new Uint8Array(png),
    ...init,
  });
const isReady = async (): Promise<boolean> => (await fetch(`${ocr.url}/ready`)).ok;
const count = async (): Promise<Record<string, number>> =>
  (await (await fetch(`${ocr.url}/count`)).json()) as Record<string, number>;

describe("the reader of the ocr example", () => {
  // In this process, because over HTTP a busy machine may ask too late to see it loading.
  it("is not loaded at first, and reads as soon as it is", async () => {
    const reader = new Reader();
    expect(reader.loaded).toBe(false);
    const { png, lines } = makePage({ lines: 1, seed: 3 });
    const { text } = await reader.read(png, new AbortController().signal);
    expect(text.trim()).toBe(lines[0]);
    expect(reader.loaded).toBe(true);
    await reader.close();
  });
});

describe("ocr example", () => {
  it("is ready once the model is loaded", async () => {
    await eventually(isReady, { timeoutMs: 30_000, everyMs: 50 });
  });

  it("reads every word of a page that it was never shown", async () => {
    const { png, lines } = makePage({ lines: 8, seed: 77 });
    const answer = (await (await send(png)).json()) as { text: string; confidence: number };
    const read = answer.text.split("\n").filter((line) => line.trim() !== "");
    expect(read).toEqual(lines);
    expect(answer.confidence).toBeGreaterThan(80);
  });

  it.each([
    ["text instead of an image", Buffer.from("hello"), 415],
    ["a page that breaks off after its head", makePage({ lines: 2 }).png.subarray(0, 60), 422],
  ])("refuses %s and goes on", async (_name, body, status) => {
    expect((await send(body)).status).toBe(status);
    expect(await isReady()).toBe(true);
  });

  it("counts the pages that it works on", async () => {
    const before = await count();
    const { png } = makePage({ lines: 2 });
    await Promise.all([send(png), send(png)]);
    const after = await count();
    expect(after).toMatchObject({ cur: 0, hits: (before["hits"] ?? 0) + 2 });
    expect(after["max"]).toBeGreaterThanOrEqual(2);
  });

  it("stops a page whose caller left and reads the next one", async () => {
    const leaving = new AbortController();
    const long = send(makePage({ lines: 120 }).png, { signal: leaving.signal });
    await eventually(async () => (await count())["cur"] === 1);
    leaving.abort();
    await expect(long).rejects.toThrow("abort");
    await eventually(async () => (await count())["cur"] === 0);
    const { png, lines } = makePage({ lines: 1, seed: 5 });
    const answer = (await (await send(png)).json()) as { text: string; ms: number };
    expect(answer.text.trim()).toBe(lines[0]);
  });
});
