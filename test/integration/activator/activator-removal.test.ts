/** Requests for a service that is removed while they wait: told at once, and only when it is sure. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(() => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
});
afterEach(() => bench.close());

const NO_ROUTES = { generation: 2, routes: [] };

/** Waits of the activator here go up to a minute: what ends sooner was told. */
const PROMPT_MS = 5_000;

describe("a request whose service is removed", () => {
  it("before its revision was known is answered with 404", async () => {
    const activator = await bench.activator();
    const startedAt = performance.now();
    const held = call(activator.dataUrl, "/");
    const early = await Promise.race([held, new Promise((resolve) => setTimeout(resolve, 400))]);
    expect(early, "a revision that is only late is waited for").toBeUndefined();
    bench.writeRoutes(NO_ROUTES);
    const reply = await held;
    expect(reply.status).toBe(404);
    expect(reply.headers["pilotlight-reason"]).toBe("no_such_service");
    expect(performance.now() - startedAt).toBeLessThan(PROMPT_MS);
  });

  it("while it waits for a pod is answered with 404 when the revision is gone", async () => {
    await bench.configure();
    const activator = await bench.activator();
    const held = call(activator.dataUrl, "/");
    await eventually(async () => (await bench.waiting()) === 1);
    const startedAt = performance.now();
    bench.writeRoutes(NO_ROUTES);
    await eventually(async () => (await call(activator.dataUrl, "/")).status === 404);
    await bench.store.removeRevision(REVISION);
    expect((await held).status).toBe(404);
    expect(performance.now() - startedAt).toBeLessThan(PROMPT_MS);
  });
});
