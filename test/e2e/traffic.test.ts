/**
 * Revisions and traffic on a running platform, as a Knative user edits them: a split, a tag, a roll
 * back, and a rollout in steps under load.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPlatform } from "../../local/main.ts";
import type { Platform, PlatformEvent } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import { eventually } from "../support/eventually.ts";
import { APP } from "../support/local-pods.ts";

const SOON = { timeoutMs: 40_000 };
const HOST = "shop.default.localhost";

let folder = "";
let platform: Platform;
const events: PlatformEvent[] = [];

interface ServiceText {
  readonly greeting: string;
  readonly traffic?: string;
  readonly rollout?: string;
}

const serviceText = ({ greeting, traffic = "", rollout = "0s" }: ServiceText): string =>
  `apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: shop
  annotations:
    pilotlight.dev/cooldown: 1s
    pilotlight.dev/service-min-scale: "1"
    serving.knative.dev/rollout-duration: ${rollout}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/window: 6s
        pilotlight.dev/local-command: node ${APP}
    spec:
      containerConcurrency: 10
      timeoutSeconds: 20
      containers: [{ image: shop, env: [{ name: GREETING, value: ${greeting} }] }]
${traffic}`;

const write = (text: ServiceText): Promise<void> =>
  writeFile(join(folder, "shop.yaml"), serviceText(text));

async function greet(host = HOST, path = "/"): Promise<string> {
  const answer = await callService(platform.urls.ingress, host, { path });
  expect(answer.status, answer.body).toBe(200);
  return (JSON.parse(answer.body) as { greeting: string }).greeting;
}

const revision = (name: string) =>
  platform.services()[0]?.revisions.find((candidate) => candidate.name === name);

async function busyOn(name: string): Promise<boolean> {
  const figures = await platform.routing.readFigures(`default/${name}`, { record: false });
  return figures.busy > 0;
}

const shares = (): string =>
  (platform.services()[0]?.revisions ?? [])
    .map(({ name, percent }) => `${name.at(-1)}:${percent}`)
    .join(" ");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-traffic-"));
  await write({ greeting: "one" });
  platform = await startPlatform({
    files: [folder],
    port: 0,
    runFolder: join(folder, "run"),
    onEvent: (event) => void events.push(event),
  });
});

afterAll(async () => {
  await platform.stop(0);
  await rm(folder, { recursive: true, force: true });
});

describe("traffic of two revisions", () => {
  it("moves to the second one when that is ready", async () => {
    expect(await greet()).toBe("one");
    await write({ greeting: "two" });
    await eventually(async () => (await greet()) === "two", SOON);
    expect(shares()).toBe("1:0 2:100");
  });

  it("is split 80 to 20, and a tag has a host of its own", async () => {
    const traffic = `  traffic:
    - { revisionName: shop-00001, percent: 80, tag: old }
    - { latestRevision: true, percent: 20, tag: next }
`;
    await write({ greeting: "two", traffic });
    await eventually(() => shares() === "1:80 2:20", SOON);
    await eventually(async () => (await greet()) === "one", SOON);
    const count = { one: 0, two: 0 };
    for (let n = 0; n < 300; n += 1) {
      const greeting = await greet();
      if (greeting === "one" || greeting === "two") count[greeting] += 1;
    }
    // 60 expected with a standard deviation of 7: five of them either way.
    expect(count.two).toBeGreaterThan(25);
    expect(count.two).toBeLessThan(95);
    expect(count.one + count.two).toBe(300);
    expect(await greet("old-shop.default.localhost")).toBe("one");
  });

  it("goes back by an edit, and the revision without traffic goes to zero", async () => {
    const traffic = "  traffic: [{ revisionName: shop-00001, percent: 100 }]\n";
    const slow = greet("next-shop.default.localhost", "/?ms=6000");
    await eventually(() => busyOn("shop-00002"), SOON);
    await write({ greeting: "two", traffic });
    await eventually(() => shares() === "1:100 2:0", SOON);
    await eventually(() => revision("shop-00002")?.pods.length === 0, SOON);
    // What ran on it ended in peace.
    expect(await slow).toBe("two");
    expect(await greet()).toBe("one");
    // service-min-scale follows the traffic.
    expect(revision("shop-00001")?.pods.length).toBeGreaterThan(0);
  });

  it("stays where it is while the file names a revision that is not there", async () => {
    const traffic = "  traffic: [{ revisionName: shop-00009, percent: 100 }]\n";
    await write({ greeting: "two", traffic });
    const text = 'Revision "shop-00009" referenced in traffic not found.';
    await eventually(() => events.some((event) => event.text.startsWith(text)), SOON);
    expect(await greet()).toBe("one");
  });
});

describe("a rollout over a time", () => {
  it("takes at least five steps, answers every request, and lets the old revision go", async () => {
    await write({
      greeting: "two",
      traffic: "  traffic: [{ latestRevision: true, percent: 100 }]\n",
    });
    await eventually(() => shares() === "1:0 2:100", SOON);
    // Each activator reads the new routes a moment later.
    const all = (): Promise<string[]> => Promise.all(Array.from({ length: 10 }, () => greet()));
    await eventually(async () => (await all()).every((text) => text === "two"), SOON);
    events.length = 0;
    let isOver = false;
    const greetings: string[] = [];
    const caller = async (): Promise<void> => {
      while (!isOver) greetings.push(await greet(HOST, "/?ms=40"));
    };
    const callers = [caller(), caller(), caller(), caller()];
    const startedAt = Date.now();
    await write({ greeting: "three", rollout: "4s" });
    await eventually(() => shares() === "1:0 2:0 3:100", SOON);
    const tookMs = Date.now() - startedAt;
    await eventually(() => revision("shop-00002")?.pods.length === 0, SOON);
    isOver = true;
    await Promise.all(callers);

    const steps = events.filter(({ kind }) => kind === "service-traffic-moved");
    expect(steps.map(({ text }) => /shop-00003 (\d+) %/.exec(text)?.[1] ?? "100")).toEqual([
      "20",
      "40",
      "60",
      "80",
      "100",
    ]);
    expect(tookMs).toBeGreaterThan(4_000);
    expect(new Set(greetings)).toEqual(new Set(["two", "three"]));
    expect(greetings.slice(-4)).toEqual(["three", "three", "three", "three"]);
  });
});
