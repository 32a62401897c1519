/**
 * Failures that users of comparable systems reported, as far as only a real cluster shows that they
 * are absent here. Durations are shorter than reported, by the factor that each step names.
 */
import { applyText, getObject, kubectl, tryKubectl } from "../../../scripts/cluster/kubectl.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
import { pause, waitFor } from "../../../scripts/cluster/waiting.ts";
import { call, numberIn } from "../rig/client.ts";
import type { Answer } from "../rig/client.ts";
import { sendLoad } from "../rig/load.ts";
import { metricsOf, podsOfPart, restarts } from "../rig/ours.ts";
import {
  actualScaleOf,
  NAMESPACE,
  deploy,
  isReady,
  podsOf,
  remove,
  replicasOf,
  scalerWords,
  serviceManifest,
  waitForReady,
  waitForReadyPods,
} from "../rig/services.ts";
import type { ServiceOptions } from "../rig/services.ts";
import { CLASS, nodeNames } from "../rig/system.ts";
import { noneFailed } from "./outages.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

export const fieldReportSteps: readonly Step[] = [
  { name: "F05: a request that is longer than stock's drain ends well", run: longDrain },
  { name: "F06: a pod that is being deleted is not chosen any more", run: deletedPod },
  {
    name: "F07: a start that cannot succeed is told to those who wait, with the reason",
    run: noStart,
  },
  { name: "F12: a pod that waits for a node is not removed", run: waitsForNode },
  { name: "F13: a superseded revision goes to zero whatever its bounds", run: superseded },
  { name: "F14: traffic moves only once the initial scale is there", run: initialScale },
  { name: "F27: objects that make no sense harm no other", run: badObjects },
  { name: "F28: series of deleted revisions are dropped", run: droppedSeries },
];

const ours = (more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  class: CLASS.pilotlight,
  ...more,
});

/** Stock's fixed 30 s; 120 s of the report stay the limit, the request takes 40 s in place of 90. */
async function longDrain(): Promise<string> {
  const name = "drained";
  await deploy({
    name,
    concurrency: 1,
    timeoutSeconds: 120,
    annotations: ours({ "min-scale": "1" }),
  });
  const [pod] = await waitForReadyPods(name, 1);
  const running = call({ service: name, path: "/?ms=40000", timeoutMs: 120_000 });
  await pause(2_000);
  await kubectl("delete", "pod", pod?.metadata.name ?? "", "-n", NAMESPACE, "--wait=false");
  const answer = await running;
  await remove(name);
  expect(answer.status === 200, `the answer was ${answer.status} ${answer.body} ${answer.error}`);
  expect(answer.body.includes(pod?.metadata.name ?? "?"), `another pod answered: ${answer.body}`);
  const grace = pod?.spec.terminationGracePeriodSeconds ?? 0;
  expect(grace >= 120, `the pod has ${grace} s to end, fewer than its requests`);
  return "answered after 40 s by the pod that was going";
}

async function deletedPod(): Promise<string> {
  const name = "going";
  await deploy({ name, concurrency: 4, annotations: ours({ "min-scale": "3", "max-scale": "3" }) });
  const [victim] = await waitForReadyPods(name, 3);
  let deletedAt = 0;
  const answers = await sendLoad({
    target: { service: name, path: "/?ms=50", timeoutMs: 30_000 },
    perSecond: 50,
    seconds: 12,
    beside: async () => {
      await pause(4_000);
      await kubectl("delete", "pod", victim?.metadata.name ?? "", "-n", NAMESPACE, "--wait=false");
      deletedAt = Date.now();
    },
  });
  await remove(name);
  noneFailed(answers);
  const byVictim = answers.filter(
    ({ answer }) => answer.headers["x-pod"] === victim?.metadata.name,
  );
  const late = byVictim.filter(
    ({ answer }) => numberIn(answer, "x-received-at") > deletedAt + 1_000,
  );
  expect(late.length === 0, `${late.length} reached it more than a second after its deletion`);
  return `${answers.length} answered, the last one there ${lastAfter(byVictim, deletedAt)} ms after its deletion`;
}

function lastAfter(answers: readonly { readonly answer: Answer }[], since: number): string {
  const times = answers.map(({ answer }) => numberIn(answer, "x-received-at") - since);
  return Math.max(0, ...times).toFixed(0);
}

/** The image of one cannot be had; no node has the cards of the other, which waits a third as long. */
async function noStart(): Promise<string> {
  const deadline = { "serving.knative.dev/progress-deadline": "60s" };
  const image: ServiceOptions = {
    name: "no-image",
    image: "dev.local/nobody-has-this:1",
    annotations: ours({
      "initial-scale": "0",
      "pilotlight.dev/activation-timeout": "300s",
      ...deadline,
    }),
  };
  const cards: ServiceOptions = {
    name: "no-cards",
    annotations: ours({
      "initial-scale": "0",
      "pilotlight.dev/activation-timeout": "20s",
      ...deadline,
    }),
    resources: { limits: { "nvidia.com/gpu": "9" } },
  };
  await Promise.all([deploy(image), deploy(cards)]);
  const [imageMs, cardsMs] = await Promise.all([
    isTold("no-image", "503 activation_failed", "ImagePull"),
    isTold("no-cards", "504 activation_timeout", "Unschedulable"),
  ]);
  expect(cardsMs < 22_000, `one waited ${cardsMs.toFixed(0)} ms with a limit of 20 s`);
  await remove("no-image", "no-cards");
  return `told after ${(imageMs / 1000).toFixed(0)} and ${(cardsMs / 1000).toFixed(0)} s`;
}

/** Five callers, the status for those who look, and no pods asked for afterwards; the longest wait, ms. */
async function isTold(service: string, wanted: string, reason: string): Promise<number> {
  const ask = (): Promise<Answer> => call({ service, timeoutMs: 280_000 });
  const answers = await Promise.all(Array.from({ length: 5 }, ask));
  for (const { status, headers, body } of answers) {
    const seen = `${status} ${String(headers["pilotlight-reason"])}`;
    expect(seen === wanted, `the answer of ${service} was ${seen}: ${body}`);
    expect(body.includes(reason), `it does not name ${reason}: ${body}`);
    expect(headers["retry-after"] !== undefined, "it says nothing of when to try again");
  }
  const words = await scalerWords(`${service}-00001`);
  expect(words.includes(reason), `the PodAutoscaler says: ${words}`);
  const { stdout } = await tryKubectl("describe", "ksvc", service, "-n", NAMESPACE);
  expect(/Warning .*(ImagePull|WaitingForNode)/.test(stdout), `no event on ${service}:\n${stdout}`);
  await waitFor(`${service} at 0`, async () => (await replicasOf(`${service}-00001`)) === 0, {
    timeoutMs: 180_000,
    everyMs: 500,
  });
  return Math.max(...answers.map(({ ms }) => ms));
}

/** 40 s in place of 180, with a window of 6 s in place of 60. */
async function waitsForNode(): Promise<string> {
  const name = "patient";
  for (const node of nodeNames) await kubectl("cordon", node);
  try {
    await applyText(serviceManifest({ name, annotations: ours({ window: "6s" }) }));
    await waitFor("its Deployment", async () => (await replicasOf(`${name}-00001`)) === 1);
    const until = performance.now() + 40_000;
    while (performance.now() < until) {
      const replicas = await replicasOf(`${name}-00001`);
      expect(replicas === 1, `it was scaled to ${replicas} before it was ever ready`);
      await pause(500);
    }
    const words = await scalerWords(`${name}-00001`);
    expect(/Unschedulable|node/i.test(words), `the PodAutoscaler says: ${words}`);
  } finally {
    for (const node of nodeNames) await kubectl("uncordon", node);
  }
  await waitForReady(name);
  await remove(name);
  return "it waited for 40 s and became Ready";
}

/** A window of 6 s in place of 60; the grace of 30 s is as stock's. */
async function superseded(): Promise<string> {
  const name = "deployed";
  const version = (revision: string): ServiceOptions => ({
    name,
    revision,
    env: { VERSION: revision },
    annotations: ours({ "initial-scale": "2", "min-scale": "1", window: "6s" }),
  });
  await deploy(version("one"));
  await deploy(version("two"));
  const movedAt = performance.now();
  await waitFor("the first revision at 0", async () => (await replicasOf(`${name}-one`)) === 0, {
    timeoutMs: 60_000,
    everyMs: 250,
  });
  const tookS = (performance.now() - movedAt) / 1000;
  expect((await replicasOf(`${name}-two`)) >= 1, "the second went as well");
  await remove(name);
  return `after ${tookS.toFixed(0)} s`;
}

/** The second pod of the new revision finds no card until another service gives one up. */
async function initialScale(): Promise<string> {
  const name = "careful";
  const other = "occupant";
  const whole = { requests: { cpu: "5m" }, limits: { "nvidia.com/gpu": "8" } };
  await deploy({
    name: other,
    annotations: ours({ "min-scale": "1" }),
    resources: { requests: { cpu: "5m" }, limits: { "nvidia.com/gpu": "1" } },
  });
  await deploy({ name, revision: "one", annotations: ours({ "min-scale": "1" }) });
  const bounds = { "initial-scale": "2", "min-scale": "2" };
  await applyText(
    serviceManifest({ name, revision: "two", annotations: ours(bounds), resources: whole }),
  );
  await waitFor("one of two ready", async () => (await readyOf(`${name}-two`)) === 1, {
    timeoutMs: 60_000,
  });
  const until = performance.now() + 8_000;
  while (performance.now() < until) {
    const words = await scalerWords(`${name}-two`);
    expect(!/^Ready True|; Ready True/.test(words), `the PodAutoscaler says: ${words}`);
    const to = await trafficOf(name);
    expect(to === `${name}-one`, `traffic goes to ${to} with one of two pods`);
    await pause(300);
  }
  await remove(other);
  await waitForReady(name);
  const to = await trafficOf(name);
  const scale = await actualScaleOf(`${name}-two`);
  expect(scale === 2 && to === `${name}-two`, `${scale} pods, traffic to ${to}`);
  // Kubernetes hears of the second one from the kubelet, after its sidecar has told us.
  await waitFor("two of two ready", async () => (await readyOf(`${name}-two`)) === 2, {
    timeoutMs: 15_000,
  });
  await remove(name);
  return "with one of two pods traffic stayed where it was";
}

async function readyOf(revision: string): Promise<number> {
  const [service = ""] = revision.split(/-(?=[^-]+$)/);
  const label = "serving.knative.dev/revision";
  const pods = await podsOf(service);
  return pods.filter((pod) => pod.metadata.labels[label] === revision && isReady(pod)).length;
}

async function trafficOf(service: string): Promise<string> {
  interface Route {
    readonly status?: { readonly traffic?: readonly { readonly revisionName?: string }[] };
  }
  const route = await getObject<Route>("route", service, "-n", NAMESPACE);
  return (route?.status?.traffic ?? []).map(({ revisionName = "" }) => revisionName).join(", ");
}

const NONSENSE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  target: { target: "abc" },
  bounds: { "min-scale": "5", "max-scale": "2" },
  window: { window: "0s" },
  utilisation: { "target-utilization-percentage": "0" },
  unknown: { class: "nobody.example.com" },
  cooldown: { "pilotlight.dev/cooldown": "soon" },
  large: { "pilotlight.dev/cooldown": "x".repeat(1_000_000) },
};

async function badObjects(): Promise<string> {
  const name = "good";
  await deploy({ name, concurrency: 4, annotations: ours({ "min-scale": "2" }) });
  const before = await restarts();
  const words: string[] = [];
  const answers = await sendLoad({
    target: { service: name, path: "/?ms=20", timeoutMs: 30_000 },
    perSecond: 20,
    seconds: 20,
    beside: async () => {
      for (const [what, annotations] of Object.entries(NONSENSE)) {
        words.push(await nonsense(what, annotations));
      }
      words.push(await badSettings());
    },
  });
  await remove(name, ...Object.keys(NONSENSE).map((what) => `bad-${what}`));
  noneFailed(answers);
  const after = await restarts();
  expect(after === before, `${after - before} containers were started again`);
  return words.join(", ");
}

/** Refused with its field named, or alone in not being Ready. */
async function nonsense(what: string, more: Readonly<Record<string, string>>): Promise<string> {
  const name = `bad-${what}`;
  const manifest = serviceManifest({ name, annotations: ours({ "initial-scale": "0", ...more }) });
  try {
    await applyText(manifest);
  } catch (error) {
    const said = String(error);
    const [field = ""] = Object.keys(more).map((key) => key.split("/").at(-1) ?? "");
    const isNamed = said.includes(field) || said.includes("annotations");
    expect(isNamed, `${what} was refused without a word about ${field}: ${said.slice(-300)}`);
    return `${what}: refused`;
  }
  return `${what}: taken`;
}

/** Settings that nobody can read: refused by stock's own webhook, or the last good ones hold. */
async function badSettings(): Promise<string> {
  const patch = ["patch", "configmap", "config-autoscaler", "-n", KNATIVE_NAMESPACE];
  const window = (value: string | null): readonly string[] => [
    "--type=merge",
    "-p",
    JSON.stringify({ data: { "stable-window": value } }),
  ];
  const { code } = await tryKubectl(...patch, ...window("soon"));
  if (code !== 0) return "settings: refused";
  await pause(3_000);
  await kubectl(...patch, ...window(null));
  return "settings: taken";
}

/** Six revisions in place of fifty. */
async function droppedSeries(): Promise<string> {
  const names = Array.from({ length: 6 }, (_, index) => `churn-${index}`);
  const annotations = ours({ "initial-scale": "0", window: "6s" });
  await Promise.all(names.map((name) => deploy({ name, annotations })));
  const answers = await Promise.all(names.map((service) => call({ service })));
  for (const { status, body } of answers)
    expect(status === 200, `the answer was ${status} ${body}`);
  const known = await seriesOf("churn-");
  expect(known > 0, "nobody counts them while they are there");
  await remove(...names);
  const removedAt = performance.now();
  await waitFor(
    "no series of them",
    async () => {
      const left = await seriesOf("churn-");
      if (left === 0) return true;
      throw new Error(`${left} are left of ${known}`);
    },
    { timeoutMs: 120_000, everyMs: 1_000 },
  );
  return `${known} series, gone after ${((performance.now() - removedAt) / 1000).toFixed(0)} s`;
}

async function seriesOf(words: string): Promise<number> {
  let count = 0;
  for (const part of ["activator", "autoscaler"] as const) {
    for (const pod of await podsOfPart(part)) {
      const lines = (await metricsOf(part, pod)).split("\n");
      count += lines.filter((line) => line.includes(words)).length;
    }
  }
  return count;
}
