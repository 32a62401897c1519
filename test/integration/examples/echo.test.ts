/** The echo example as a real process. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startExample } from "../../support/examples.ts";

describe("echo example", () => {
  it("says what it received", async () => {
    await using echo = await startExample("echo");
    const body = Buffer.alloc(300_000, "pilot");
    const response = await fetch(`${echo.url}/any/path?x=1`, {
      method: "PUT",
      headers: { "x-mine": "yes" },
      body,
    });
    const answer = (await response.json()) as Record<string, unknown>;
    expect(answer).toMatchObject({
      method: "PUT",
      url: "/any/path?x=1",
      bytes: body.length,
      sha256: createHash("sha256").update(body).digest("hex"),
    });
    expect(answer["headers"]).toMatchObject({ "x-mine": "yes" });
  });

  it("finishes a running request after SIGTERM, then exits with 0", async () => {
    const echo = await startExample("echo");
    const running = fetch(`${echo.url}/sleep?ms=400`);
    // The first answer proves that the connection of the second is open.
    await fetch(`${echo.url}/`).then((response) => response.text());
    const code = echo.stop();
    expect((await running).status).toBe(200);
    expect(await code).toBe(0);
  });

  it("stops waiting when the caller leaves", async () => {
    const echo = await startExample("echo");
    const leaving = new AbortController();
    const running = fetch(`${echo.url}/sleep?ms=60000`, { signal: leaving.signal });
    await fetch(`${echo.url}/`).then((response) => response.text());
    leaving.abort();
    await expect(running).rejects.toThrow("abort");
    // A minute of sleep that went on would hold the process open.
    expect(await echo.stop()).toBe(0);
  });
});
