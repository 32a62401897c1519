/**
 * Whole requests through two real activator processes: from the push that says ready to the request
 * at the pod, and what an activator adds to a request at 1,000 a second with 10,000 targets.
 */
import { Agent, request } from "node:http";
import type { ReportedState } from "../../common/contracts/push.ts";
import {
  ActivatorBench,
  HOST,
  REVISION,
  SECRET,
  call,
} from "../../test/support/activator-bench.ts";
import type { StubPod } from "../../test/support/activator-stub-pod.ts";
import { eventually } from "../../test/support/eventually.ts";
import { podReporter } from "../../test/support/pod-reporter.ts";
import { keepAlive, openStore, reportFleet } from "./bench.ts";
import type { RoutingBench } from "./bench.ts";
import { startActivator, startUpstream } from "./processes.ts";
import type { ActivatorUrls, Child } from "./processes.ts";
import { median, quantile, spread } from "./statistics.ts";

const TARGETS = 10_000;
const PER_SECOND = 1_000;
/** One after the other: a pod that went and came a thousand times in a minute would be none. */
const STARTING_PODS = 50;
const STARTS_PER_POD = 20;

interface Live {
  readonly bench: RoutingBench;
  readonly rig: ActivatorBench;
  readonly activators: readonly Child<ActivatorUrls>[];
}

export async function measureLive(bench: RoutingBench): Promise<void> {
  const rig = new ActivatorBench(bench.server.url, "bench:");
  // Pods go and come back twenty times, which is no flapping here.
  await rig.configure({ flapThreshold: 100 });
  const env = { ...rig.environment, PILOTLIGHT_LOG_LEVEL: "warn" };
  const activators = await Promise.all(
    ["one", "two"].map((name) => startActivator({ ...env, PILOTLIGHT_ACTIVATOR_ID: name })),
  );
  try {
    await measurePush({ bench, rig, activators });
    await rig.store.removeRevision(REVISION);
    await rig.configure();
    await measureAdded({ bench, rig, activators });
  } finally {
    await Promise.all(activators.map((activator) => activator.stop()));
    await rig.close();
  }
}

/** A request waits at one activator; the pod says ready to the other one. */
async function measurePush({ bench, rig, activators }: Live): Promise<void> {
  const [one, two] = activators.map(({ message }) => message);
  if (one === undefined || two === undefined) throw new Error("two activators are needed");
  const times: number[] = [];
  for (let i = 0; i < (bench.quick ? 5 : STARTING_PODS); i += 1) {
    const sidecar = await BenchSidecar.start(await rig.pod(), two.push);
    for (let turn = 0; turn < STARTS_PER_POD; turn += 1) {
      const answer = call(one.dataUrl, "/");
      await eventually(async () => (await rig.waiting()) === 1, { everyMs: 1 });
      times.push(await readyToDispatch(sidecar));
      await answer;
      await sidecar.say("unready");
    }
    await sidecar.stop();
  }
  const shared = { unit: "ms", n: times.length };
  const p50 = { must: "<= 1", goal: "<= 0.35" };
  const p90 = { must: "<= 2", goal: "<= 0.5" };
  const { report } = bench;
  report.row({
    id: "routing.push_to_dispatch.p50",
    value: quantile(times, 0.5),
    ...shared,
    ...p50,
  });
  report.row({
    id: "routing.push_to_dispatch.p90",
    value: quantile(times, 0.9),
    ...shared,
    ...p90,
  });
}

/** The real sidecar's reporter, whose pod is ready when it is told so. */
class BenchSidecar {
  readonly pod: StubPod;
  #state: ReportedState = "unready";
  #reporter: Awaited<ReturnType<typeof podReporter>> | undefined;
  #heard: (() => void) | undefined;

  constructor(pod: StubPod) {
    this.pod = pod;
  }

  static async start(pod: StubPod, push: string): Promise<BenchSidecar> {
    const sidecar = new BenchSidecar(pod);
    const [host = "", port = ""] = push.split(":");
    const [namespace = "", revision = ""] = REVISION.split("/");
    const reporter = await podReporter({
      pod,
      secret: SECRET,
      namespace,
      revision,
      directory: {
        list: () => Promise.resolve([{ host, port: Number(port) }]),
        watch: () => {},
        stop: () => {},
      },
      state: () => sidecar.#state,
      onReply: () => sidecar.#heard?.(),
    });
    sidecar.#reporter = reporter;
    const greeted = sidecar.#reply();
    reporter.start();
    await greeted;
    return sidecar;
  }

  /** Resolves when the activator has answered. */
  async say(state: ReportedState): Promise<void> {
    this.#state = state;
    const answered = this.#reply();
    this.#reporter?.changed();
    await answered;
  }

  async stop(): Promise<void> {
    await this.#reporter?.stop();
  }

  #reply(): Promise<void> {
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }
}

async function readyToDispatch(sidecar: BenchSidecar): Promise<number> {
  let arrivedAt = 0;
  sidecar.pod.onRequest = () => (arrivedAt = performance.now());
  const startedAt = performance.now();
  await sidecar.say("ready");
  await eventually(() => arrivedAt > 0, { timeoutMs: 10_000, everyMs: 1, what: "the request" });
  return arrivedAt - startedAt;
}

/** In turns: straight to the pods, then through the activators; what is added is the difference. */
async function measureAdded({ bench, rig, activators }: Live): Promise<void> {
  const upstream = await startUpstream();
  const store = openStore(bench.server, "sidecars");
  await store.ready();
  const { port } = upstream.message;
  const fleet = { revision: REVISION, targets: TARGETS, capacity: 1, address: "127.0.0.1", port };
  await reportFleet(store, fleet);
  const stopBeating = keepAlive(store, fleet);
  const agent = new Agent({ keepAlive: true, maxSockets: 512 });
  const seconds = bench.quick ? 1 : 5;
  const via = activators.map(({ message }) => message.dataUrl);
  const direct = [`http://127.0.0.1:${port}`];
  const added = new Map([0.5, 0.9, 0.99].map((share): [number, number[]] => [share, []]));
  try {
    await runAtRate(agent, via, 1);
    for (let round = 0; round < (bench.quick ? 2 : 6); round += 1) {
      const [straight, through] = [
        await runAtRate(agent, direct, seconds),
        await runAtRate(agent, via, seconds),
      ];
      for (const [share, values] of added) {
        values.push(quantile(through, share) - quantile(straight, share));
      }
      const [p50, p99] = [0.5, 0.99].map((share) => quantile(straight, share));
      bench.report.addToTable("direct", {
        round,
        requests: straight.length,
        p50Ms: p50,
        p99Ms: p99,
      });
    }
  } finally {
    agent.destroy();
    await stopBeating();
    await store.close();
    await upstream.stop();
  }
  await eventually(async () => (await rig.busy()) === 0, { timeoutMs: 10_000 });
  reportAdded(bench, added);
}

function reportAdded({ report, quick }: RoutingBench, added: ReadonlyMap<number, number[]>): void {
  const limits = new Map([
    [0.5, { must: "<= 1", goal: "<= 0.4" }],
    [0.9, { must: "<= 2", goal: "<= 0.6" }],
    [0.99, { must: "<= 10", goal: "<= 3" }],
  ]);
  for (const [share, values] of added) {
    report.row({
      id: `routing.added.p${Math.round(share * 100)}`,
      value: median(values),
      unit: "ms",
      n: PER_SECOND * (quick ? 1 : 5) * values.length,
      spread: spread(values),
      ...limits.get(share),
    });
  }
}

/** Sends at a fixed rate, whatever the answers do; times in ms from due to answered. */
async function runAtRate(
  agent: Agent,
  urls: readonly string[],
  seconds: number,
): Promise<readonly number[]> {
  const times: number[] = [];
  const total = PER_SECOND * seconds;
  const open: Promise<void>[] = [];
  const startedAt = performance.now();
  while (open.length < total) {
    const due = Math.min(total, ((performance.now() - startedAt) * PER_SECOND) / 1_000);
    while (open.length < due) {
      const url = urls[open.length % urls.length] ?? "";
      open.push(sendOne(agent, url).then((ms) => void times.push(ms)));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(open);
  return times;
}

function sendOne(agent: Agent, url: string): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers: { host: HOST } }, (answer) => {
      answer.resume();
      answer.once("end", () => {
        if (answer.statusCode === 200) resolve(performance.now() - startedAt);
        else reject(new Error(`${url} answered ${answer.statusCode}`));
      });
    });
    outgoing.once("error", reject);
    outgoing.end();
  });
}
