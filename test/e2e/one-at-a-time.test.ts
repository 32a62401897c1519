/**
 * The promise that matters most, on the whole platform: at containerConcurrency 1 no container ever
 * works on two requests, no request waits beside an idle pod, and what dies takes nothing with it
 * that it did not hold.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPlatform } from "../../local/main.ts";
import type { Platform } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import { eventually } from "../support/eventually.ts";
import { idleBesideWaiting } from "../support/idle-beside-waiting.ts";
import { runLoad } from "../support/load.ts";

const HOST = "one.default.localhost";
const KEY = "default/one-00001";
const PODS = 3;
const MODEL_SERVER = fileURLToPath(new URL("../fixtures/servers/model-server.ts", import.meta.url));

const SERVICE = `apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: one
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/min-scale: "${PODS}"
        autoscaling.knative.dev/max-scale: "${PODS}"
        autoscaling.knative.dev/initial-scale: "${PODS}"
        pilotlight.dev/local-command: node ${MODEL_SERVER}
    spec:
      containerConcurrency: 1
      timeoutSeconds: 30
      containers:
        - image: example.com/one
          readinessProbe: { httpGet: { path: /ready } }
`;

let folder = "";
let platform: Platform;

const activatorUrls = (): readonly string[] => platform.activators().map(({ url }) => url);
const readyPods = () => platform.pods().filter(({ phase }) => phase === "ready");

/** The container's own count, asked past the platform. */
async function mostAtOnce(userPort: number): Promise<number> {
  const answer = await callService(`http://127.0.0.1:${userPort}`, "container", { path: "/count" });
  return (JSON.parse(answer.body) as { max: number }).max;
}

async function allPodsReady(): Promise<void> {
  await eventually(() => readyPods().length === PODS, {
    timeoutMs: 60_000,
    what: "all pods ready",
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-one-"));
  await writeFile(join(folder, "one.yaml"), SERVICE);
  platform = await startPlatform({ files: [folder], port: 0, runFolder: join(folder, "run") });
  await allPodsReady();
});

afterAll(async () => {
  await platform.stop(0);
  await rm(folder, { recursive: true, force: true });
});

describe("containerConcurrency 1", () => {
  it("gives 300 requests through both activators to one container each, none beside an idle pod", async () => {
    await platform.routing.recordEvents(KEY, true);
    const answers = await runLoad({
      via: activatorUrls(),
      host: HOST,
      path: "/sleep?s=0.03",
      requests: 300,
      callers: 12,
    });
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await Promise.all(readyPods().map(({ userPort }) => mostAtOnce(userPort)))).toEqual([
      1, 1, 1,
    ]);

    const idle = idleBesideWaiting(await platform.routing.readEvents(KEY));
    expect(idle.entries).toBeGreaterThan(600);
    expect(idle.longestMs).toBeLessThanOrEqual(20);
  });
});

describe("under load, kill -9", () => {
  const load = (requests: number, method = "GET") =>
    runLoad({
      via: activatorUrls(),
      host: HOST,
      path: "/sleep?s=0.05",
      requests,
      callers: 6,
      method,
    });

  it("of a container loses no request that may be repeated", async () => {
    const running = load(150);
    process.kill(readyPods()[0]?.userPid ?? 0, "SIGKILL");
    expect((await running).filter(({ status }) => status !== 200)).toEqual([]);
    await allPodsReady();
  });

  it("of a queue-proxy loses no request that may be repeated", async () => {
    const running = load(150);
    process.kill(readyPods()[0]?.sidecarPid ?? 0, "SIGKILL");
    expect((await running).filter(({ status }) => status !== 200)).toEqual([]);
    await allPodsReady();
  });

  it("of a container or a queue-proxy fails at most the one POST that it worked on, with a reason", async () => {
    for (const pidOf of [() => readyPods()[0]?.userPid, () => readyPods()[0]?.sidecarPid]) {
      const running = load(100, "POST");
      process.kill(pidOf() ?? 0, "SIGKILL");
      const failed = (await running).filter(({ status }) => status !== 200);
      expect(failed.length).toBeLessThanOrEqual(1);
      for (const { status, reason } of failed) {
        expect(status).toBe(502);
        expect(["upstream_reset", "container_exited"]).toContain(reason);
      }
      await allPodsReady();
    }
  });

  it("of an activator loses only the connections that it held", async () => {
    const [victim, survivor] = platform.activators();
    const running = load(200);
    process.kill(victim?.pid ?? 0, "SIGKILL");
    const answers = await running;
    expect(answers.filter(({ via, status }) => via === survivor?.url && status !== 200)).toEqual(
      [],
    );
    const lost = answers.filter(({ via, status }) => via === victim?.url && status !== 200);
    // Connections of the dead activator break; it never turns into an answer made up by somebody.
    expect(lost.filter(({ status }) => status !== 0)).toEqual([]);
    await eventually(() => platform.activators().length === 2, {
      timeoutMs: 20_000,
      what: "two activators",
    });

    // What the dead one held is free again: all pods work.
    const after = await load(30);
    expect(after.filter(({ status }) => status !== 200)).toEqual([]);
    expect(
      Math.max(...(await Promise.all(readyPods().map(({ userPort }) => mostAtOnce(userPort))))),
    ).toBe(1);
  });
});
