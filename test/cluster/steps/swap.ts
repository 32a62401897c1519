/** From stock to Pilotlight by our overlays, the services of the proof, and the way back. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { applyText, kubectl } from "../../../scripts/cluster/kubectl.ts";
import { ROOT } from "../../../scripts/cluster/layout.ts";
import { parseManifests, toText } from "../../../scripts/cluster/manifests.ts";
import { call } from "../rig/client.ts";
import { quantile, sendLoad } from "../rig/load.ts";
import type { Numbered } from "../rig/load.ts";
import {
  deploy,
  isReady,
  podsOf,
  remove,
  serviceManifest,
  waitForNone,
  waitForReady,
} from "../rig/services.ts";
import { CLASS, becomePilotlight, becomeStock, servingPods } from "../rig/system.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

const EXAMPLE = "echo";

export const swapSteps: readonly Step[] = [
  {
    name: "the API server accepts the objects of every overlay in a dry run",
    run: dryRuns,
  },
  {
    name: "the overlays turn stock into Pilotlight while a stock service is called",
    run: swapUnderLoad,
  },
];

/** Kinds of the Prometheus operator, which the rig has not got. */
const FOREIGN = "monitoring.coreos.com/";

async function dryRuns(): Promise<string> {
  const folder = join(ROOT, "manifests/overlays");
  const counts: string[] = [];
  for (const overlay of readdirSync(folder)) {
    const all = parseManifests(await kubectl("kustomize", join(folder, overlay)));
    const known = all.filter(({ apiVersion }) => !apiVersion.startsWith(FOREIGN));
    await applyText(toText(known), "--dry-run=server");
    counts.push(`${overlay} ${known.length} of ${all.length}`);
  }
  return `${counts.join(", ")} objects`;
}

async function swapUnderLoad(): Promise<string> {
  await deploy({ name: "bystander", annotations: { class: CLASS.stock, "min-scale": "1" } });
  const ended = new AbortController();
  const load = callUntil(ended.signal);
  try {
    await becomePilotlight();
  } finally {
    ended.abort();
    await load;
    await remove("bystander");
  }
  const answers = await load;
  const failed = answers.filter(({ answer }) => answer.status !== 200);
  const why = failed.map(({ answer }) => `${answer.status} ${answer.body}${answer.error}`);
  expect(failed.length === 0, `${failed.length} of ${answers.length} failed: ${why[0] ?? ""}`);
  return `${answers.length} requests meanwhile, none failed`;
}

async function callUntil(ended: AbortSignal): Promise<readonly Numbered[]> {
  const answers: Numbered[] = [];
  while (!ended.aborted) {
    const target = { service: "bystander", path: "/?ms=10" };
    answers.push(...(await sendLoad({ target, perSecond: 10, seconds: 2 })));
  }
  return answers;
}

/** The steps of the proof, in the order in which a user would take them. */
export const proofSteps: readonly Step[] = [
  {
    name: "the example file of local mode, applied as it is, becomes Ready at zero",
    async run() {
      const file = join(ROOT, "examples", EXAMPLE, "service.yaml");
      await applyText(
        readFileSync(file, "utf8").replace("metadata:\n", "metadata:\n  namespace: default\n"),
      );
      await waitForReady(EXAMPLE);
      await waitForNone(EXAMPLE);
    },
  },
  {
    name: "it answers on its URL through the ingress, from zero",
    async run() {
      const answer = await call({ service: EXAMPLE, path: "/hello" });
      expect(
        answer.status === 200,
        `the answer was ${answer.status} ${answer.body} ${answer.error}`,
      );
      return `first answer after ${(answer.ms / 1000).toFixed(2)} s`;
    },
  },
  { name: "it scales out under load and every request is answered", run: scalesOut },
  {
    name: "it drains and returns to zero",
    async run() {
      const startedAt = performance.now();
      await waitForNone(EXAMPLE);
      await remove(EXAMPLE);
      return `after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    },
  },
  { name: "a second revision takes traffic by percentage", run: splitsTraffic },
];

async function scalesOut(): Promise<string> {
  let most = 0;
  const answers = await sendLoad({
    target: { service: EXAMPLE, path: "/sleep?ms=1000", timeoutMs: 90_000 },
    perSecond: 25,
    seconds: 12,
    beside: async (signal) => {
      while (!signal.aborted) {
        most = Math.max(most, (await podsOf(EXAMPLE)).filter(isReady).length);
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    },
  });
  const failed = answers.filter(({ answer }) => answer.status !== 200);
  expect(
    failed.length === 0,
    `${failed.length} of ${answers.length} failed, ${failed[0]?.answer.status}`,
  );
  expect(most >= 2, `it had ${most} pods at most`);
  const p50 = quantile(
    answers.map(({ answer }) => answer.ms),
    0.5,
  );
  return `${answers.length} answered, ${most} pods, median ${p50.toFixed(0)} ms`;
}

async function splitsTraffic(): Promise<string> {
  const service = (revision: string, traffic?: readonly object[]): string =>
    serviceManifest({
      name: "split",
      revision,
      env: { VERSION: revision },
      concurrency: 10,
      annotations: { class: CLASS.pilotlight, "min-scale": "1" },
      ...(traffic === undefined ? {} : { traffic }),
    });
  await applyText(service("one"));
  await waitForReady("split");
  const shares = [
    { revisionName: "split-one", percent: 70 },
    { revisionName: "split-two", percent: 30 },
  ];
  await applyText(service("two", shares));
  await waitForReady("split");
  const answers = await sendLoad({ target: { service: "split" }, perSecond: 40, seconds: 10 });
  const two = answers.filter(({ answer }) => answer.headers["x-version"] === "two").length;
  const failed = answers.filter(({ answer }) => answer.status !== 200).length;
  await remove("split");
  const share = two / answers.length;
  expect(failed === 0, `${failed} failed`);
  expect(
    share > 0.2 && share < 0.4,
    `the second revision had ${(share * 100).toFixed(0)} %, 30 wanted`,
  );
  return `${(share * 100).toFixed(0)} % of ${answers.length} for 30 asked`;
}

export const wayBackSteps: readonly Step[] = [
  {
    name: "the way back: stock serves again and nothing of ours is left",
    async run() {
      await becomeStock();
      await deploy({ name: "again", annotations: { class: CLASS.stock } });
      const answer = await call({ service: "again" });
      expect(answer.status === 200, `the answer was ${answer.status} ${answer.body}`);
      const pods = JSON.stringify(await servingPods());
      expect(!pods.includes("pilotlight"), "a pod still has an image or a mount of ours");
      await remove("again");
    },
  },
];
