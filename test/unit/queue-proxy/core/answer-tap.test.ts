/** What the sidecar learns of an answer that it only passes on. */
import { describe, expect, it } from "vitest";
import { formatCallNote, parseCallNote } from "../../../../common/contracts/call-note.ts";
import type { CallNote } from "../../../../common/contracts/call-note.ts";
import { createRandom } from "../../../../common/random.ts";
import { AnswerTap } from "../../../../queue-proxy/core/answer-tap.ts";
import { BatchMeter, CallSamples } from "../../../../queue-proxy/core/call-samples.ts";

const USAGE = { prompt_tokens: 120, completion_tokens: 34, total_tokens: 154 };

function tap(contentType: string, text: string, cuts: readonly number[] = []): AnswerTap {
  const made = new AnswerTap(contentType);
  const bytes = Buffer.from(text);
  const edges = [0, ...cuts, bytes.length];
  edges.slice(1).forEach((end, index) => made.chunk(bytes.subarray(edges[index], end), index + 1));
  return made;
}

describe("tokens of an answer", () => {
  it("are read from the usage of a whole answer, cached ones too", () => {
    const usage = { ...USAGE, prompt_tokens_details: { cached_tokens: 100 } };
    const text = JSON.stringify({ choices: [{ text: '"usage": {' }], usage });
    const made = tap("application/json", text);
    expect(made.usage()).toEqual({ promptTokens: 120, cachedTokens: 100, outputTokens: 34 });
    expect(made.firstAt).toBe(0);
  });

  it("are found at the end of a long answer that comes in pieces", () => {
    const text = JSON.stringify({ text: "x".repeat(20_000), usage: USAGE });
    const random = createRandom(3);
    for (let round = 0; round < 50; round += 1) {
      const cuts = Array.from({ length: 9 }, () => Math.floor(random() * text.length));
      const sorted = cuts.toSorted((left, right) => left - right);
      expect(tap("application/json", text, sorted).usage()?.outputTokens).toBe(34);
    }
  });

  it("are the events of a stream without usage, wherever the pieces end", () => {
    const events = ["a", "b", "c", "d"].map((word) => `data: {"text":"${word}"}\n\n`);
    const text = `${events.join("")}data: {"finish":"stop"}\n\ndata: [DONE]\n\n`;
    for (let cut = 1; cut < text.length; cut += 1) {
      const made = tap("text/event-stream", text, [cut]);
      expect(made.usage()).toEqual({ promptTokens: -1, cachedTokens: 0, outputTokens: 4 });
      expect(made.firstAt).toBe(1);
    }
  });

  it("are unknown where an answer does not say", () => {
    expect(tap("application/json", '{"ok":true}').usage()).toBeUndefined();
    expect(tap("text/plain", "usage").usage()).toBeUndefined();
  });
});

const NOTE: CallNote = {
  promptTokens: 110,
  serviceUs: 5_000,
  characters: 440,
  messages: 2,
  model: "m/70b",
  stage: "revise;1",
  workflowClass: "text2sql",
};

describe("the note of a call", () => {
  it("survives its way in a header, odd names included", () => {
    expect(parseCallNote(formatCallNote(NOTE))).toEqual(NOTE);
    const none = { ...NOTE, promptTokens: -1, model: "ä b" };
    expect(parseCallNote(formatCallNote(none))).toEqual(none);
  });

  it.each([undefined, "", "1;2;3;4;a;b", "1;x;3;4;a;b;c", "-2;1;1;1;a;b;c", "1;1;1;1;%;b;c"])(
    "is ignored when it is %s",
    (text) => {
      expect(parseCallNote(text)).toBeUndefined();
    },
  );
});

describe("samples", () => {
  const ended = {
    note: NOTE,
    startedAt: 1_000,
    firstAt: 1_250,
    endedAt: 2_000.12345,
    meanBatch: 2,
  };

  it("say what the engine counted, else what was estimated", () => {
    const samples = new CallSamples();
    samples.add({ ...ended, usage: { promptTokens: 120, cachedTokens: 20, outputTokens: 9 } });
    samples.add({ ...ended, usage: { promptTokens: -1, cachedTokens: 0, outputTokens: 9 } });
    samples.add({ ...ended, usage: undefined, firstAt: 0, meanBatch: 0.5 });
    const [counted, streamed, plain] = samples.take();
    expect(counted).toMatchObject({ promptTokens: 120, characters: 440, firstMs: 250 });
    expect(counted?.totalMs).toBe(1_000.123);
    expect(streamed).toMatchObject({ promptTokens: 110, characters: 0, outputTokens: 9 });
    expect(plain).toMatchObject({ outputTokens: -1, firstMs: 0, meanBatch: 1 });
    expect(samples.hasSome).toBe(false);
  });

  it("are the newest 64", () => {
    const samples = new CallSamples();
    for (let i = 0; i < 70; i += 1) {
      samples.add({ ...ended, note: { ...NOTE, promptTokens: i }, usage: undefined });
    }
    const taken = samples.take();
    expect([taken.length, taken[0]?.promptTokens]).toEqual([64, 6]);
  });

  it("weigh the batch by time", () => {
    const meter = new BatchMeter();
    meter.changed(1, 0);
    const start = meter.integralAt(100);
    meter.changed(3, 200);
    expect(meter.integralAt(300) - start).toBe(100 + 300);
  });
});
