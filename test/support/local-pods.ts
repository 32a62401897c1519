/** Pods on real processes, without the rest of a platform: what child pods need, in a fresh folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRandom } from "../../common/random.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { systemClock } from "../../foundation/clock.ts";
import { createAddressBook } from "../../local/addresses.ts";
import { ChildPods } from "../../local/child-pods.ts";
import type { PodEvent, PodPlan, PodSummary } from "../../local/pod-types.ts";
import { openReadinessGate } from "../../local/readiness-gate.ts";
import { openRunFolder } from "../../local/run-folder.ts";
import { parseServiceFile } from "../../local/service-files.ts";
import type { TemplateSpec } from "../../local/service-types.ts";
import { startWatchdog } from "../../local/watchdog.ts";

export const APP = fileURLToPath(new URL("../fixtures/local/app.mjs", import.meta.url));

export interface PodBench extends AsyncDisposable {
  readonly pods: ChildPods;
  readonly events: readonly (PodEvent & { readonly pod: string })[];
  readonly folder: string;
  /** Makes a revision whose pods run the fixture app. */
  define(name: string, options?: PlanOptions): RevisionKey;
  scale(key: RevisionKey, replicas: number, leaveOrder?: readonly string[]): Promise<void>;
  summaries(): readonly PodSummary[];
}

export interface PlanOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Lines of the container, below `image`. */
  readonly container?: readonly string[];
  readonly timeoutSeconds?: number;
  readonly cards?: readonly string[];
}

export async function startPodBench(): Promise<PodBench> {
  const parent = await mkdtemp(join(tmpdir(), "pilotlight-pods-"));
  const folder = await openRunFolder(join(parent, "run"));
  const watchdog = await startWatchdog(folder.path);
  const gate = await openReadinessGate();
  const plans = new Map<RevisionKey, PodPlan>();
  const events: (PodEvent & { pod: string })[] = [];
  const pods = new ChildPods({
    world: {
      clock: systemClock,
      folder,
      secret: "secret of the test",
      watchdog,
      gate,
      extras: {
        compileCache: join(parent, "cache"),
        gatePort: gate.port,
        path: process.env["PATH"] ?? "",
      },
      host: {
        env: process.env,
        ingressUrl: "http://127.0.0.1:1",
        compileCache: join(parent, "app-cache"),
      },
      activators: () => [],
    },
    addresses: createAddressBook(createRandom(process.pid)),
    plan: (key) => plans.get(key),
    onEvent: (pod, event) => void events.push({ ...event, pod: pod.name }),
  });
  return {
    pods,
    events,
    folder: folder.path,
    define: (name, options = {}) => {
      const key: RevisionKey = `default/${name}-00001`;
      plans.set(key, planOf(key, name, options));
      return key;
    },
    scale: (key, replicas, leaveOrder = []) =>
      pods.writeScale({
        key,
        replicas,
        leaveOrder,
        decidedAt: systemClock.now(),
        reason: `scaled to ${replicas}`,
      }),
    summaries: () => pods.summaries(),
    [Symbol.asyncDispose]: async () => {
      await pods.stop(0);
      await gate.close();
      await watchdog.stop();
      await rm(parent, { recursive: true, force: true });
    },
  };
}

function planOf(key: RevisionKey, name: string, options: PlanOptions): PodPlan {
  return {
    key,
    namespace: "default",
    service: name,
    configuration: name,
    revision: `${name}-00001`,
    template: templateOf(name, options),
    launch: {
      kind: "process",
      command: process.execPath,
      args: [APP],
      cwd: "/",
      shown: "node app.mjs",
    },
    card: options.cards?.[0] ?? "default",
    ...(options.cards === undefined ? {} : { cards: options.cards }),
  };
}

function templateOf(name: string, options: PlanOptions): TemplateSpec {
  const text = [
    "apiVersion: serving.knative.dev/v1",
    "kind: Service",
    `metadata: { name: ${name} }`,
    "spec:",
    "  template:",
    "    spec:",
    `      timeoutSeconds: ${options.timeoutSeconds ?? 60}`,
    "      containers:",
    "        - image: app",
    `          env: ${JSON.stringify(
      Object.entries(options.env ?? {}).map(([key, value]) => ({ name: key, value })),
    )}`,
    ...(options.container ?? []).map((line) => `          ${line}`),
  ].join("\n");
  const reading = parseServiceFile("/bench.yaml", text, {});
  const template = reading.services[0]?.template;
  if (template === undefined) throw new Error(reading.errors.map((e) => e.text).join("\n"));
  return template;
}
