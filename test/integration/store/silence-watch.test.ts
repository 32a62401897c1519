/** A server that stands still breaks no connection; one that owes nothing may be silent for ever. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Redis } from "ioredis";
import { endWhenSilent } from "../../../store/silence-watch.ts";
import { startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const SILENCE_MS = 300;

let valkey: ValkeyServer;
let client: Redis;

beforeEach(async () => {
  valkey = await startValkey({ args: ["--enable-debug-command", "local"] });
  client = new Redis(valkey.port, "127.0.0.1", {
    maxRetriesPerRequest: 0,
    retryStrategy: () => 20,
  });
  client.on("error", () => undefined);
  endWhenSilent(client, SILENCE_MS);
  await next("ready");
});
afterEach(async () => {
  client.disconnect();
  await valkey.stop();
});

/** Not `once` of Node, which takes the error that comes first for its end. */
const next = (event: string): Promise<unknown> =>
  new Promise((resolve) => client.once(event, resolve));

describe("a connection", () => {
  it("is ended while its server stands still, and comes back with it", async () => {
    process.kill(valkey.pid, "SIGSTOP");
    const startedAt = performance.now();
    const closed = next("close");
    const asked = client.ping().catch((error: unknown) => error);
    // Writing goes on; only what is heard counts.
    const writing = setInterval(() => void client.ping().catch(() => undefined), 50);
    await closed;
    clearInterval(writing);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(SILENCE_MS);
    expect(await asked).toBeInstanceOf(Error);
    const ready = next("ready");
    process.kill(valkey.pid, "SIGCONT");
    await ready;
    expect(await client.ping()).toBe("PONG");
  });

  it("stays while replies come, however slowly", async () => {
    let closes = 0;
    client.on("close", () => (closes += 1));
    for (let i = 0; i < 8; i += 1) await client.call("DEBUG", "SLEEP", "0.1");
    expect(closes).toBe(0);
  });

  it("stays when nothing is asked for longer than that", async () => {
    let closes = 0;
    client.on("close", () => (closes += 1));
    // A connection that is owed a reply ends again and again in that time.
    const mute = await startRawServer(() => {});
    const owed = new Redis(mute.port, "127.0.0.1", { retryStrategy: () => 20 });
    owed.on("error", () => undefined);
    let ends = 0;
    owed.on("close", () => (ends += 1));
    endWhenSilent(owed, SILENCE_MS);
    await eventually(() => ends === 3);
    owed.disconnect();
    await mute.stop();
    expect(closes).toBe(0);
    expect(await client.ping()).toBe("PONG");
  });
});
