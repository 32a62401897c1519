/** Field reports on local objects: what is deleted unheard (F01) or is about to be (F06), and a start that cannot succeed (F07). */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startPlatform } from "../../local/main.ts";
import type { Platform } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import type { ServiceAnswer } from "../support/call-service.ts";
import { eventually } from "../support/eventually.ts";
import { runLoad } from "../support/load.ts";
import { APP } from "../support/local-pods.ts";

const MODEL_SERVER = fileURLToPath(new URL("../fixtures/servers/model-server.ts", import.meta.url));
const HOST = "tiny.default.localhost";
const SOON = { timeoutMs: 60_000 };

let folder = "";
let platform: Platform;

interface Template {
  readonly env: Readonly<Record<string, string>>;
  readonly annotations: readonly string[];
  /** Default: the small server. */
  readonly program?: string;
}

async function write({ env, annotations, program = APP }: Template): Promise<void> {
  const list = Object.entries(env).map(([name, value]) => ({ name, value }));
  const text = `apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: tiny
  annotations:
    pilotlight.dev/cooldown: 1s
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/window: 6s
        pilotlight.dev/local-command: node ${program}
${annotations.map((line) => `        ${line}`).join("\n")}
    spec:
      containers:
        - image: example.com/tiny
          env: ${JSON.stringify(list)}
`;
  await writeFile(join(folder, "tiny.yaml"), text);
}

async function start(template: Template): Promise<void> {
  await write(template);
  platform = await startPlatform({ files: [folder], port: 0, runFolder: join(folder, "run") });
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-reports-"));
});
afterEach(async () => {
  await platform.stop(0);
  await rm(folder, { recursive: true, force: true });
});

const newest = () => platform.services()[0]?.revisions.at(-1);
const readyPods = () => platform.pods().filter(({ phase }) => phase === "ready");

describe("F01 deletion missed while nobody listened", () => {
  it("an activator that slept while all pods were replaced sends nothing to those that are gone", async () => {
    const two = [
      'autoscaling.knative.dev/min-scale: "2"',
      'autoscaling.knative.dev/initial-scale: "2"',
    ];
    await start({ env: { GREETING: "old" }, annotations: two });
    await eventually(() => readyPods().length === 2, SOON);
    const [sleeper, other] = platform.activators();
    if (sleeper === undefined || other === undefined) throw new Error("two activators are needed");
    expect((await callService(sleeper.url, HOST)).status).toBe(200);
    const gone = new Set(platform.pods().map(({ uid }) => uid));

    process.kill(sleeper.pid, "SIGSTOP");
    try {
      await write({ env: { GREETING: "new" }, annotations: two });
      const isReplaced = (): boolean =>
        readyPods().length === 2 && platform.pods().every(({ uid }) => !gone.has(uid));
      await eventually(isReplaced, { ...SOON, what: "only new pods" });
    } finally {
      process.kill(sleeper.pid, "SIGCONT");
    }

    const ask = async (): Promise<string> => {
      const answer = await callService(sleeper.url, HOST);
      expect(answer.status, answer.body).toBe(200);
      return (JSON.parse(answer.body) as { greeting: string }).greeting;
    };
    await eventually(async () => (await ask()) === "new", { timeoutMs: 5_000 });
    for (let round = 0; round < 20; round += 1) expect(await ask()).toBe("new");
  }, 120_000);
});

describe("F06 a pod that is being deleted", () => {
  it("gets nothing new after a second, finishes what it has, and no call fails", async () => {
    const three = ["min-scale", "initial-scale"].map(
      (key) => `autoscaling.knative.dev/${key}: "3"`,
    );
    await start({ env: {}, annotations: three, program: MODEL_SERVER });
    await eventually(() => readyPods().length === 3, SOON);
    const [victim] = readyPods();
    if (victim === undefined) throw new Error("three pods are needed");
    let begun = 0;
    const begunIn = async (): Promise<number> => {
      const path = "/count";
      const container = `http://127.0.0.1:${victim.userPort}`;
      const answer = await callService(container, "container", { path }).catch(() => undefined);
      // It has left when it answers no more, and began nothing since.
      if (answer !== undefined) begun = (JSON.parse(answer.body) as { hits: number }).hits;
      return begun;
    };
    const via = platform.activators().map(({ url }) => url);
    const path = "/sleep?s=0.1";
    const load = runLoad({ via, host: HOST, path, requests: 250, callers: 5, method: "POST" });
    await eventually(async () => (await begunIn()) > 0, SOON);
    // The probe of the container goes on to pass; only its end was announced.
    process.kill(victim.sidecarPid, "SIGTERM");
    const toldAt = performance.now();
    await eventually(() => performance.now() - toldAt > 1_000, { everyMs: 20 });
    const afterASecond = await begunIn();
    let isLoaded = true;
    const answers = load.finally(() => (isLoaded = false));
    // Looked at again and again, since a container that has left tells nothing.
    await eventually(
      async () => {
        expect(await begunIn()).toBe(afterASecond);
        return !isLoaded;
      },
      { timeoutMs: 60_000, everyMs: 20 },
    );
    expect((await answers).filter(({ status }) => status !== 200)).toEqual([]);
    expect(performance.now() - toldAt).toBeGreaterThan(2_000);
  }, 120_000);
});

describe("F07 the start can never succeed", () => {
  it("five callers learn why, nobody is held, and the pods go at the deadline and stay away", async () => {
    await start({
      env: { CRASH: "no such model" },
      annotations: [
        'autoscaling.knative.dev/initial-scale: "0"',
        'pilotlight.dev/activation-timeout: "60s"',
        'serving.knative.dev/progress-deadline: "10s"',
      ],
    });
    const calls: Promise<ServiceAnswer>[] = Array.from({ length: 5 }, (_, index) =>
      callService(platform.activators()[index % 2]?.url ?? "", HOST),
    );
    for (const answer of await Promise.all(calls)) {
      expect(answer.status).toBe(503);
      expect(answer.headers["pilotlight-reason"]).toBe("activation_failed");
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
      expect(answer.body).toContain("CrashLoopBackOff");
      expect(answer.body).toContain("no such model");
    }
    const figures = await platform.routing.readFigures("default/tiny-00001", { record: false });
    expect(figures).toMatchObject({ waiting: 0, busy: 0 });
    const said = newest()?.conditions.map(({ reason, message }) => `${reason}: ${message}`);
    expect(said?.join("\n")).toContain("no such model");

    await eventually(() => platform.pods().length === 0, { ...SOON, what: "no pods" });
    const goneAt = performance.now();
    await eventually(
      () => {
        expect(platform.pods()).toEqual([]);
        return performance.now() - goneAt > 3_000;
      },
      { timeoutMs: 10_000, everyMs: 50 },
    );
  }, 120_000);
});
