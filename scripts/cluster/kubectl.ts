/** kubectl of the rig, as functions. */
import { join } from "node:path";
import { GO_TOOLS } from "./build/pins.ts";
import { binFolder } from "./build/go-modules.ts";
import { KUBECONFIG } from "./layout.ts";
import { attempt, run } from "./run.ts";
import type { Ran } from "./run.ts";
import { waitFor } from "./waiting.ts";

export const kubectlPath = (): string => join(binFolder(GO_TOOLS.kubernetes), "kubectl");

export function kubectl(...args: readonly string[]): Promise<string> {
  return run(kubectlPath(), ["--kubeconfig", KUBECONFIG, ...args]);
}

export function tryKubectl(...args: readonly string[]): Promise<Ran> {
  return attempt(kubectlPath(), ["--kubeconfig", KUBECONFIG, ...args]);
}

/** An object as the API server has it, or `undefined` when there is none. */
export async function getObject<T>(...what: readonly string[]): Promise<T | undefined> {
  const args = ["get", ...what, "-o", "json", "--ignore-not-found"];
  const text = await kubectl(...args);
  return text.trim() === "" ? undefined : (JSON.parse(text) as T);
}

/** Applies manifests given as text; server-side, so that what was left out stays as others set it. */
export async function applyText(text: string, ...more: readonly string[]): Promise<void> {
  const how = ["--server-side", "--force-conflicts", ...more, "-f", "-"];
  await run(kubectlPath(), ["--kubeconfig", KUBECONFIG, "apply", ...how], { input: text });
}

/** Applies manifests again and again until the API server takes them, as while a webhook starts. */
export async function applyWhenTaken(what: string, text: string): Promise<void> {
  await waitFor(
    what,
    async () => {
      await applyText(text);
      return true;
    },
    { timeoutMs: 120_000, everyMs: 300 },
  );
}

/** Waits until the named Deployments have all their pods, or says which pods are in the way. */
export async function waitForDeployments(
  namespace: string,
  names: readonly string[],
  timeoutMs = 120_000,
): Promise<void> {
  const args = ["-n", namespace, "rollout", "status", `--timeout=${timeoutMs / 1000}s`];
  await Promise.all(
    names.map(async (name) => {
      const { code, stderr } = await tryKubectl(...args, `deployment/${name}`);
      if (code === 0) return;
      const pods = await kubectl("-n", namespace, "get", "pods", "-o", "wide");
      throw new Error(`Deployment ${namespace}/${name}: ${stderr.trim()}\n${pods}`);
    }),
  );
}
