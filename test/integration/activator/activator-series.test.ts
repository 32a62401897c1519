/** Series of what is gone are gone too, and no pod's name makes one (field report F28, as written). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RevisionKey } from "../../../common/contracts/routing.ts";
import {
  ActivatorBench,
  REVISION,
  SECRET,
  call,
  revisionConfig,
} from "../../support/activator-bench.ts";
import { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const REVISIONS = 50;
const POD_NAMES = 1_000;
/** Pods that push side by side. */
const WAVE = 20;
/** Bars of F28. */
const GONE_MS = 60_000;
const SCRAPE_MS = 100;
const MORE_SERIES = 1.05;

let valkey: ValkeyServer;
let bench: ActivatorBench;

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
});
afterEach(() => bench.close());

const names = Array.from({ length: REVISIONS }, (_, index) => `churn-${index}`);
const hostOf = (service: string): string => `${service}.default.localhost`;
const keyOf = (service: string): RevisionKey => `default/${service}-00001`;

function writeRoutes(services: readonly string[], generation: number): void {
  const own = { host: hostOf("echo"), namespace: "default", service: "echo" };
  const routes = services.map((service) => ({
    host: hostOf(service),
    namespace: "default",
    service,
    targets: [{ revision: `${service}-00001`, percent: 100 }],
  }));
  const echo = { ...own, targets: [{ revision: "echo-00001", percent: 100 }] };
  bench.writeRoutes({ generation, routes: [echo, ...routes] });
}

const page = async (push: string): Promise<string> =>
  (await fetch(`http://${push}/metrics`)).text();
/** Without those of Node: one for each kind of collection or handle that was met so far. */
const seriesIn = (text: string): number =>
  text.split("\n").filter((line) => line !== "" && !/^(#|nodejs_)/.test(line)).length;

/** The best of a few: other work of this machine is not the page's. */
async function scrapeMs(push: string): Promise<number> {
  const took: number[] = [];
  for (let scrape = 0; scrape < 10; scrape += 1) {
    const startedAt = performance.now();
    await page(push);
    took.push(performance.now() - startedAt);
  }
  return Math.min(...took);
}

describe("series of an activator", () => {
  it("go within a minute when fifty revisions with traffic are deleted", async () => {
    const activator = await bench.activator();
    const own = await bench.pod();
    await own.register(activator.push);
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
    const before = seriesIn(await page(activator.push));

    writeRoutes(names, 2);
    for (const service of names) {
      await bench.store.configureRevision(
        revisionConfig({ service, revision: `${service}-00001` }),
      );
    }
    const pods = await Promise.all(names.map((name) => bench.pod({ revision: keyOf(name) })));
    for (const pod of pods) await pod.register(activator.push);
    await Promise.all(
      names.map((service) =>
        eventually(
          async () =>
            (await call(activator.dataUrl, "/", { host: hostOf(service) })).status === 200,
          { timeoutMs: 20_000 },
        ),
      ),
    );
    const during = await page(activator.push);
    for (const service of names) expect(during).toContain(`revision="${service}-00001"`);
    expect(await scrapeMs(activator.push)).toBeLessThan(SCRAPE_MS);

    for (const pod of pods) pod.vanish();
    await Promise.all(pods.map((pod) => pod.unlisten()));
    writeRoutes([], 3);
    for (const service of names) await bench.store.removeRevision(keyOf(service));
    await eventually(async () => !(await page(activator.push)).includes('revision="churn-'), {
      timeoutMs: GONE_MS,
      everyMs: 500,
    });
    const after = seriesIn(await page(activator.push));
    expect(after).toBeLessThanOrEqual(before * MORE_SERIES);
    expect(after).toBeGreaterThanOrEqual(before / MORE_SERIES);
  }, 150_000);

  it("stay as many when a thousand pods pass through one revision", async () => {
    const activator = await bench.activator();
    const own = await bench.pod();
    await own.register(activator.push);
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
    const before = seriesIn(await page(activator.push));
    for (let first = 0; first < POD_NAMES; first += WAVE) {
      const wave = Array.from({ length: WAVE }, (_, index) =>
        passThrough(activator.push, first + index),
      );
      await Promise.all(wave);
    }
    const text = await page(activator.push);
    expect(text).not.toContain("passing-");
    expect(text).not.toContain("127.200.");
    expect(seriesIn(text)).toBeLessThanOrEqual(before * MORE_SERIES);
    expect(await scrapeMs(activator.push)).toBeLessThan(SCRAPE_MS);
    // Labels that could grow with callers or pods.
    for (const label of ["pod", "path", "request_id", "user", "address"]) {
      expect(text).not.toMatch(new RegExp(`[{,]${label}="`));
    }
  }, 150_000);
});

/** A pod that comes, says that it is ready, and is killed. */
async function passThrough(push: string, index: number): Promise<void> {
  const uid = `passing-${index}`;
  const address = `127.200.${Math.floor(index / 250)}.${1 + (index % 250)}`;
  const pod = new StubPod({ uid, address, revision: REVISION, secret: SECRET });
  bench.writePod({
    uid,
    name: uid,
    namespace: "default",
    service: "echo",
    configuration: "echo",
    revision: "echo-00001",
    address,
    card: "default",
    decidedAt: 1,
    spawnedAt: 2,
  });
  // Nobody is sent there: it is gone before.
  pod.serveAt(8012);
  const { status } = await pod.push(push, "hello", "ready");
  expect(status).toBe(200);
  pod.vanish();
}
