/** The chat example in front of the llm example, both as real processes. */
import { describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { startExample } from "../../support/examples.ts";

const messages = [{ role: "user", content: "Hello" }];

describe("chat example", () => {
  it("streams the model's answer through and leaves nothing running", async () => {
    await using llm = await startExample("llm", { LLM_LOAD_MS: "0" });
    await eventually(async () => (await fetch(`${llm.url}/ready`)).ok);
    await using chat = await startExample("chat", { LLM_URL: llm.url, LLM_HOST: "llm.test" });
    const leaving = new AbortController();
    const response = await fetch(`${chat.url}/chat`, {
      method: "POST",
      body: JSON.stringify({ messages }),
      signal: leaving.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const first = await response.body?.getReader().read();
    expect(Buffer.from(first?.value ?? "").toString()).toContain("chat.completion.chunk");
    const running = async (): Promise<unknown> =>
      ((await (await fetch(`${llm.url}/`)).json()) as { running: number }).running;
    expect(await running()).toBe(1);
    leaving.abort();
    await eventually(async () => (await running()) === 0);
  });

  it("serves its page without anything from elsewhere", async () => {
    await using chat = await startExample("chat");
    for (const path of ["/", "/style.css", "/chat.js", "/sse.js"]) {
      const response = await fetch(chat.url + path);
      expect(response.status).toBe(200);
      expect(await response.text()).not.toMatch(/https?:\/\//);
    }
  });

  it("says so when the model service cannot be reached", async () => {
    await using chat = await startExample("chat", { LLM_URL: "http://127.0.0.1:1" });
    const response = await fetch(`${chat.url}/chat`, {
      method: "POST",
      body: JSON.stringify({ messages }),
    });
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("cannot be reached");
  });
});
