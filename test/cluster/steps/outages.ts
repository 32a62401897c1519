/** Parts of the control plane go away: routing never notices, and nothing is scaled wrongly. */
import { binFolder } from "../../../scripts/cluster/build/go-modules.ts";
import { GO_TOOLS } from "../../../scripts/cluster/build/pins.ts";
import {
  startApiServer,
  stopApiServer,
  waitForApi,
} from "../../../scripts/cluster/control-plane.ts";
import { pidOf } from "../../../scripts/cluster/daemons.ts";
import { kubectl, waitForDeployments } from "../../../scripts/cluster/kubectl.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
import { pause, waitFor } from "../../../scripts/cluster/waiting.ts";
import { call } from "../rig/client.ts";
import { quantile, reasons, sendLoad } from "../rig/load.ts";
import type { Numbered } from "../rig/load.ts";
import { leader } from "../rig/ours.ts";
import { crash } from "../rig/processes.ts";
import {
  deploy,
  isReady,
  podsOf,
  remove,
  replicasOf,
  waitForReadyPods,
  waitForZero,
} from "../rig/services.ts";
import type { Pod } from "../rig/services.ts";
import { CLASS, OURS, waitForActivatorsInFront } from "../rig/system.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

const SERVING = ["autoscaler", "controller", "webhook"];
const SLOW_MS = 1_000;

export interface OutageOptions {
  /** How long the API server is away, s. */
  readonly awayS: number;
}

export function outageSteps({ awayS }: OutageOptions): readonly Step[] {
  return [
    {
      name: `the API server is gone for ${awayS} s: routing does not notice, nothing is scaled wrongly`,
      run: () => apiServerGone(awayS),
    },
    {
      name: "a pod dies while the API server is silent, and no request is lost with it",
      run: apiServerSilent,
    },
    { name: "the leader of the autoscalers is killed while it scales", run: leaderKilled },
  ];
}

async function apiServerGone(awayS: number): Promise<string> {
  const before = await deployTwo("away");
  const bin = binFolder(GO_TOOLS.kubernetes);
  const answers = await sendLoad({
    target: { service: "away", path: "/?ms=20", timeoutMs: 30_000 },
    perSecond: 20,
    seconds: awayS + 15,
    beside: async () => {
      await pause(2_000);
      await stopApiServer();
      await pause(awayS * 1_000);
      startApiServer(bin);
      await waitForApi(bin);
    },
  });
  noneFailed(answers);
  const replicas = await replicasOf("away-00001");
  expect(replicas === 2, `it is scaled to ${replicas}, not to 2`);
  // Kubernetes itself may doubt a node whose lease could not be renewed, for a moment.
  const after = await waitForReadyPods("away", 2);
  const names = (pods: readonly Pod[]): string => pods.map((pod) => pod.metadata.name).join(", ");
  expect(names(after) === names(before), `${names(before)} became ${names(after)}`);
  await untilRecovered("away");
  await remove("away");
  return `${answers.length} answered, p99 ${p99(answers)} ms`;
}

/** F01 and F26: nobody can hear of the death but from the pod itself and from those who call it. */
async function apiServerSilent(): Promise<string> {
  await deployTwo("silent");
  const [victim] = (await podsOf("silent")).filter(isReady);
  const pid = pidOf("kube-apiserver");
  if (pid === undefined || victim === undefined) throw new Error("there is nothing to stop");
  process.kill(pid, "SIGSTOP");
  try {
    crash(victim);
    const target = { service: "silent", path: "/?ms=20", timeoutMs: 30_000 };
    const answers = await sendLoad({ target, perSecond: 10, seconds: 8 });
    noneFailed(answers);
    const late = answers.filter(({ answer }) => answer.ms > SLOW_MS).length;
    expect(late === 0, `${late} of ${answers.length} took longer than a second`);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await waitForReadyPods("silent", 2);
  await untilRecovered("silent");
  await remove("silent");
  return "80 answered, each within a second";
}

/**
 * Controllers lose their leases and start anew, and a node that could not renew its own counts as gone
 * for a moment, with all that runs there: the gateway then has no activator to lead to. What follows
 * needs all of them.
 */
async function untilRecovered(name: string): Promise<void> {
  await kubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=120s");
  await waitForDeployments(KNATIVE_NAMESPACE, [...SERVING, ...OURS]);
  await untilAnswered(name);
}

async function untilAnswered(name: string): Promise<void> {
  await waitFor(`an answer of ${name}`, async () => {
    const { status, body } = await call({ service: name, path: "/", timeoutMs: 30_000 });
    if (status === 200) return true;
    throw new Error(`${status} ${body}`);
  });
}

async function leaderKilled(): Promise<string> {
  const name = "led";
  await deploy({
    name,
    concurrency: 1,
    annotations: { class: CLASS.pilotlight, "initial-scale": "0", "max-scale": "4", window: "10s" },
  });
  let most = 0;
  const answers = await sendLoad({
    target: { service: name, path: "/?ms=500", timeoutMs: 90_000 },
    perSecond: 6,
    seconds: 20,
    beside: async (signal) => {
      const leads = await leader();
      await waitFor("a first pod", async () => (await podsOf(name)).length > 0, {
        everyMs: 20,
        timeoutMs: 30_000,
      });
      crash(leads);
      while (!signal.aborted) {
        most = Math.max(most, await replicasOf(`${name}-00001`));
        await pause(200);
      }
    },
  });
  noneFailed(answers);
  expect(most >= 2 && most <= 4, `it was scaled to ${most}, with 2 to 4 right`);
  await waitForZero(name);
  await waitForDeployments(KNATIVE_NAMESPACE, ["pilotlight-autoscaler"]);
  await remove(name);
  return `${answers.length} answered, ${most} pods at most`;
}

async function deployTwo(name: string): Promise<readonly Pod[]> {
  await deploy({
    name,
    concurrency: 4,
    annotations: { class: CLASS.pilotlight, "min-scale": "2", "max-scale": "4", window: "10s" },
  });
  const pods = await waitForReadyPods(name, 2);
  await untilAnswered(name);
  await waitForActivatorsInFront(`${name}-00001`);
  return pods;
}

export function noneFailed(answers: readonly Numbered[]): void {
  const failed = answers.filter(({ answer }) => answer.status !== 200).length;
  expect(failed === 0, `${failed} of ${answers.length} failed: ${reasons(answers)}`);
}

const p99 = (answers: readonly Numbered[]): string =>
  quantile(
    answers.map(({ answer }) => answer.ms),
    0.99,
  ).toFixed(0);
