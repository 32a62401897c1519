/**
 * Our admission webhook beside the stock one, before it and behind it. Everything is a dry run by
 * the API server, so nothing is made; webhooks are called all the same.
 */
import { getObject, kubectl, kubectlPath } from "../../../scripts/cluster/kubectl.ts";
import { KUBECONFIG } from "../../../scripts/cluster/layout.ts";
import { attempt } from "../../../scripts/cluster/run.ts";
import { waitFor } from "../../../scripts/cluster/waiting.ts";
import { serviceManifest } from "../rig/services.ts";
import type { ServiceOptions } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

const OURS = "defaulting.webhook.pilotlight.dev";
/** Sorts behind `webhook.serving.knative.dev`, so it is called after it. */
const LATE = "zz-defaulting.webhook.pilotlight.dev";
const KIND = "mutatingwebhookconfiguration";
const GPU = { limits: { "nvidia.com/gpu": "1" } };

export const admissionSteps: readonly Step[] = [
  {
    name: "the webhook gives a GPU service one request at a time, before stock's default",
    async run() {
      await becomes(
        { name: "hook-gpu", annotations: { class: CLASS.pilotlight }, resources: GPU },
        1,
      );
      await becomes({ name: "hook-cpu", annotations: { class: CLASS.pilotlight } }, 100);
      // Stock's own default, which the API server shows as absent or 0.
      await becomes({ name: "hook-stock", annotations: { class: CLASS.stock }, resources: GPU }, 0);
    },
  },
  {
    name: "the webhook names every fault, and warns of what it does not know",
    async run() {
      const annotations = {
        class: CLASS.pilotlight,
        "pilotlight.dev/scaling-buffer": "lots",
        "pilotlight.dev/queue-depth": "-1",
      };
      const refused = await dryRun({ name: "hook-bad", annotations });
      for (const words of ["invalid value: lots", "expected 0 <= -1 <= 100000"]) {
        expect(refused.said.includes(words), `it said: ${refused.said}`);
      }
      const odd = { class: CLASS.pilotlight, "pilotlight.dev/cool-down": "3s" };
      const { said } = await dryRun({ name: "hook-odd", annotations: odd });
      expect(said.includes("did you mean cooldown?"), `it said: ${said}`);
    },
  },
  {
    name: "behind the stock webhook it changes nothing and stands in nobody's way",
    async run() {
      const early = await getObject<Configuration>(KIND, OURS);
      if (early === undefined) throw new Error(`there is no ${OURS}`);
      try {
        await put({ ...early, metadata: { name: LATE } });
        await kubectl("delete", KIND, OURS);
        await becomes(
          { name: "hook-late", annotations: { class: CLASS.pilotlight }, resources: GPU },
          0,
        );
      } finally {
        await kubectl("delete", KIND, LATE, "--ignore-not-found");
        await put({ ...early, metadata: { name: OURS, labels: early.metadata.labels ?? {} } });
      }
      await becomes(
        { name: "hook-back", annotations: { class: CLASS.pilotlight }, resources: GPU },
        1,
      );
    },
  },
];

interface Configuration {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

async function put(configuration: Configuration): Promise<void> {
  const args = ["--kubeconfig", KUBECONFIG, "create", "-f", "-"];
  const { code, stderr } = await attempt(kubectlPath(), args, {
    input: JSON.stringify(configuration),
  });
  expect(code === 0, stderr);
}

interface DryRun {
  readonly said: string;
  /** `undefined` where it was refused. */
  readonly concurrency: number | undefined;
}

interface Made {
  readonly spec: {
    readonly template: { readonly spec: { readonly containerConcurrency?: number } };
  };
}

async function dryRun(options: ServiceOptions): Promise<DryRun> {
  const args = ["--kubeconfig", KUBECONFIG, "create", "--dry-run=server", "-o", "json", "-f", "-"];
  const ran = await attempt(kubectlPath(), args, { input: serviceManifest(options) });
  if (ran.code !== 0) return { said: ran.stderr, concurrency: undefined };
  const made = JSON.parse(ran.stdout) as Made;
  return { said: ran.stderr, concurrency: made.spec.template.spec.containerConcurrency ?? 0 };
}

/** The API server takes a changed configuration into use a moment later. */
async function becomes(options: ServiceOptions, concurrency: number): Promise<void> {
  await waitFor(
    `${options.name} with containerConcurrency ${concurrency}`,
    async () => {
      const seen = await dryRun(options);
      if (seen.concurrency === concurrency) return true;
      throw new Error(`it has ${seen.concurrency ?? "been refused"}: ${seen.said}`);
    },
    { timeoutMs: 30_000, everyMs: 300 },
  );
}
