/** Field reports on local objects: what is deleted unheard (F01), and a start that cannot succeed (F07). */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startPlatform } from "../../local/main.ts";
import type { Platform } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import type { ServiceAnswer } from "../support/call-service.ts";
import { eventually } from "../support/eventually.ts";
import { APP } from "../support/local-pods.ts";

const HOST = "tiny.default.localhost";
const SOON = { timeoutMs: 60_000 };

let folder = "";
let platform: Platform;

interface Template {
  readonly env: Readonly<Record<string, string>>;
  readonly annotations: readonly string[];
}

async function write({ env, annotations }: Template): Promise<void> {
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
        pilotlight.dev/local-command: node ${APP}
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
