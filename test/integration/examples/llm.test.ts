/** The simulated model server as a real process: wire shapes, speeds, state reports. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { startExample } from "../../support/examples.ts";
import type { ExampleProcess } from "../../support/examples.ts";

const FAST = { LLM_LOAD_MS: "0", LLM_DECODE_MS_PER_TOKEN: "1" };

interface Chunk {
  readonly id: string;
  readonly object: string;
  readonly choices: readonly {
    readonly delta?: { readonly role?: string; readonly content?: string };
    readonly text?: string;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const post = (server: ExampleProcess, path: string, body: unknown): Promise<Response> =>
  fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });

async function startReady(env: Readonly<Record<string, string>> = FAST): Promise<ExampleProcess> {
  const server = await startExample("llm", env);
  await eventually(async () => (await fetch(`${server.url}/ready`)).ok);
  return server;
}

async function readChunks(response: Response): Promise<{ chunks: Chunk[]; last: string }> {
  const events = (await response.text()).split("\n\n");
  // What follows the last blank line is nothing.
  expect(events.pop()).toBe("");
  const data = events.map((event) => /^data: (.+)$/.exec(event)?.[1] ?? `not an event: ${event}`);
  const last = data.pop() ?? "";
  return { chunks: data.map((text) => JSON.parse(text) as Chunk), last };
}

const CHAT = "/v1/chat/completions";
const messages = [{ role: "user", content: "How does a cold start go?" }];

describe("llm example", () => {
  it("streams chunks that add up to the whole answer, with usage when asked", async () => {
    await using server = await startReady();
    const whole = (await (await post(server, CHAT, { messages })).json()) as {
      choices: [{ message: { content: string }; finish_reason: string }];
      usage: Record<string, number>;
    };
    const streamed = await post(server, CHAT, {
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(streamed.headers.get("content-type")).toBe("text/event-stream");
    const { chunks, last } = await readChunks(streamed);
    expect(last).toBe("[DONE]");
    expect(chunks[0]?.choices[0]?.delta?.role).toBe("assistant");
    const text = chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? "").join("");
    expect(text).toBe(whole.choices[0].message.content);
    expect(text).toContain("simulated");
    expect(new Set(chunks.map(({ id, object }) => `${id} ${object}`)).size).toBe(1);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    const { prompt_tokens = 0, completion_tokens = 0, total_tokens } = whole.usage;
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  });

  it("cuts an answer at max_tokens and says so", async () => {
    await using server = await startReady();
    const answer = await post(server, "/v1/completions", { prompt: "Hello", max_tokens: 5 });
    expect(await answer.json()).toMatchObject({
      object: "text_completion",
      choices: [{ finish_reason: "length" }],
      usage: { completion_tokens: 5 },
    });
  });

  it("lists its model", async () => {
    await using server = await startReady();
    const list = (await (await fetch(`${server.url}/v1/models`)).json()) as {
      data: [{ id: string }];
    };
    expect(list.data[0].id).toContain("simulated");
    expect((await fetch(`${server.url}/v1/models/${list.data[0].id}`)).status).toBe(200);
  });

  it.each([
    ["no messages", {}, "messages"],
    ["a message without content", { messages: [{ role: "user" }] }, "messages[0].content"],
    ["a negative limit", { messages, max_tokens: -1 }, "max_tokens"],
  ])("refuses %s in the shape that clients know", async (_name, body, param) => {
    await using server = await startReady();
    const answer = await post(server, CHAT, body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { type: "invalid_request_error", param } });
  });

  it.each([
    ["a100", 3_050, 35],
    ["a6000", 1_035, 58],
  ])("is as fast as card %s", async (card, prefill, decodeMs) => {
    await using server = await startReady({ LLM_LOAD_MS: "0", LLM_CARD: card });
    const promptTokens = 1_000;
    const tokens = 10;
    const expectedMs = (promptTokens / prefill) * 1_000 + tokens * decodeMs;
    const startedAt = performance.now();
    const prompt = "word".repeat(promptTokens);
    await (await post(server, "/v1/completions", { prompt, max_tokens: tokens })).json();
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(expectedMs - 2);
    // The machine may be busy; the simulated time itself must not stretch by more than a third.
    expect(tookMs).toBeLessThan(expectedMs * 1.33 + 50);
  });

  it("reports loading, ready, and how many requests run, also when a caller leaves", async () => {
    const reports: { state: string; running: number }[] = [];
    const sidecar = createServer((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        // The first report fails: it must come again.
        response.writeHead(reports.length === 0 ? 503 : 204).end();
        reports.push(JSON.parse(body) as { state: string; running: number });
      });
    });
    await new Promise<void>((resolve) => sidecar.listen(0, "127.0.0.1", resolve));
    const { port } = sidecar.address() as AddressInfo;
    try {
      await using server = await startReady({
        LLM_LOAD_MS: "1500",
        PILOTLIGHT_STATE_URL: `http://127.0.0.1:${port}/state`,
      });
      await eventually(() => reports.some(({ state }) => state === "ready"));
      expect(reports.filter(({ state }) => state === "loading").length).toBeGreaterThan(1);
      const leaving = new AbortController();
      const call = fetch(server.url + CHAT, {
        method: "POST",
        body: JSON.stringify({ messages, stream: true }),
        signal: leaving.signal,
      });
      await call;
      await eventually(() => reports.at(-1)?.running === 1);
      leaving.abort();
      await eventually(() => reports.at(-1)?.running === 0);
    } finally {
      sidecar.closeAllConnections();
      sidecar.close();
    }
  });

  it("answers 503 while the weights load", async () => {
    await using server = await startExample("llm", { LLM_LOAD_MS: "60000" });
    expect((await fetch(`${server.url}/ready`)).status).toBe(503);
    const answer = await post(server, CHAT, { messages });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: "model_loading" } });
  });
});
