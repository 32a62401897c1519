/** What people use: the dashboard as its manifests run it, and the command line with a kubeconfig. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { kubectlPath, waitForDeployments } from "../../../scripts/cluster/kubectl.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
import { GATEWAY, KUBECONFIG, NETWORK, ROOT } from "../../../scripts/cluster/layout.ts";
import { waitFor } from "../../../scripts/cluster/waiting.ts";
import type { Snapshot } from "../../../local/platform-types.ts";
import { startCli } from "../../support/cli.ts";
import type { CliResult, CliRun } from "../../support/cli.ts";
import { podsOfPart } from "../rig/ours.ts";
import { deploy, remove, waitForNone } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

const NAME = "seen";
const DASHBOARD = "pilotlight-dashboard";
const PORT = 8090;
const INGRESS = `http://${NETWORK.control}:${GATEWAY.externalPort}`;

export const peopleSteps: readonly Step[] = [
  { name: "the command line lists, invokes and follows a service at zero", run: commandLine },
  { name: "the dashboard's pod answers through a forwarded port, and only there", run: dashboard },
];

const pilotlight = (...args: readonly string[]): CliRun =>
  startCli(ROOT, [...args, "--cluster"], { env: { ...process.env, KUBECONFIG } });

async function commandLine(): Promise<string> {
  await deploy({
    name: NAME,
    annotations: { class: CLASS.pilotlight, "initial-scale": "0", window: "15s" },
  });
  await waitForNone(NAME);
  const listed = await ended(pilotlight("ls"));
  expect(/^seen +0\/0 /m.test(listed.out), `ls printed ${listed.out}`);
  const invoked = await ended(pilotlight("invoke", NAME, "/", "--timings", "--ingress", INGRESS));
  expect(invoked.err.includes("HTTP 200, cold start"), `invoke said ${invoked.err}`);
  const followed = await follow();
  await ended(pilotlight("describe", NAME));
  // Ends with 1 where something is missing.
  await ended(pilotlight("doctor"));
  return `invoke from zero:${invoked.err.split("\n").slice(1).join(" ").replaceAll(/\s+/g, " ")}; ${followed}`;
}

async function ended({ done }: CliRun): Promise<CliResult> {
  const result = await done;
  expect(result.code === 0, `it ended with ${result.code}: ${result.err}${result.out}`);
  return result;
}

/** A request that is sent while `logs -f` runs shows there. */
async function follow(): Promise<string> {
  const logs = pilotlight("logs", NAME, "-f");
  try {
    let sent = 0;
    await waitFor(
      "the request in the log that is followed",
      async () => {
        sent += 1;
        const number = `X-Request-Number: followed-${sent}`;
        await ended(pilotlight("invoke", NAME, "/", "--ingress", INGRESS, "-H", number));
        return logs.text().out.includes("got followed-");
      },
      { timeoutMs: 30_000, everyMs: 500 },
    );
    return `the log showed request ${/got followed-(\d+)/.exec(logs.text().out)?.[1]}`;
  } finally {
    logs.child.kill("SIGINT");
    await logs.done;
  }
}

async function dashboard(): Promise<string> {
  await waitForDeployments(KNATIVE_NAMESPACE, [DASHBOARD]);
  const [pod] = await podsOfPart("dashboard");
  const direct = await fetch(`http://${pod?.status.podIP}:${PORT}/`, {
    signal: AbortSignal.timeout(5_000),
  }).catch(() => undefined);
  expect(direct === undefined, `${pod?.status.podIP}:${PORT} answers ${direct?.status}`);
  const forward = await forwardPort();
  try {
    const page = await fetch(forward.url);
    expect(page.status === 200 && (await page.text()).includes("<html"), "the page is no page");
    return await readSnapshot(forward.url);
  } finally {
    forward.child.kill("SIGTERM");
    await remove(NAME);
  }
}

async function readSnapshot(url: string): Promise<string> {
  const { run, store, services } = await waitFor(
    "the service in the dashboard",
    async () => {
      const answer = await fetch(`${url}/api/snapshot`);
      const snapshot = (await answer.json()) as Snapshot;
      return snapshot.services.some(({ name }) => name === NAME) && snapshot;
    },
    { timeoutMs: 30_000, everyMs: 500 },
  );
  expect(run.mode === "cluster" && store.state === "ready", `the store is ${store.state}`);
  const decisions = services
    .filter(({ name }) => name === NAME)
    .flatMap(({ revisions }) => revisions.flatMap((revision) => revision.decisions));
  expect(decisions.length > 0, `no decision about ${NAME} is shown`);
  return `${services.length} services, ${decisions.length} decisions about ${NAME}`;
}

/** As the guide says it: kubectl, with the caller's rights. */
async function forwardPort(): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const to = ["-n", KNATIVE_NAMESPACE, `deployment/${DASHBOARD}`, `:${PORT}`];
  const args = ["--kubeconfig", KUBECONFIG, "port-forward", ...to];
  const child = spawn(kubectlPath(), args, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString()));
  const found = await waitFor(
    "kubectl port-forward",
    async () => /127\.0\.0\.1:(\d+)/.exec(said)?.[1],
    { timeoutMs: 20_000, giveUp: () => (child.exitCode === null ? undefined : "it ended") },
  ).catch(async (error: unknown) => {
    child.kill("SIGTERM");
    throw error;
  });
  return { url: `http://127.0.0.1:${found}`, child };
}
