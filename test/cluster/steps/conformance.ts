/**
 * Knative's own conformance suites against what is installed now, stock or ours: built from its
 * module, their servers as images of single programs.
 */
import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  binFolder,
  ensureGoTool,
  moduleFolder,
} from "../../../scripts/cluster/build/go-modules.ts";
import { GO_TOOLS } from "../../../scripts/cluster/build/pins.ts";
import { writeProgramArchive } from "../../../scripts/cluster/images/programs.ts";
import { importArchive } from "../../../scripts/cluster/images/stock.ts";
import { KNATIVE_NAMESPACE, stateFolder } from "../../../scripts/cluster/knative.ts";
import { getObject, kubectl } from "../../../scripts/cluster/kubectl.ts";
import { CACHE, GATEWAY, KUBECONFIG } from "../../../scripts/cluster/layout.ts";
import type { Progress } from "../../../scripts/cluster/progress.ts";
import { attempt } from "../../../scripts/cluster/run.ts";
import { waitFor } from "../../../scripts/cluster/waiting.ts";
import { NAMESPACE, deploy, remove } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import type { System } from "../rig/system.ts";

export interface SuiteResult {
  readonly suite: string;
  readonly test: string;
  readonly verdict: string;
}

export const SUITES = ["runtime.test", "api.test"] as const;

/** Tests that ask for what we do not do on purpose, with the row of docs/reference/differences.md. */
export const DEPARTURES: ReadonlyMap<string, string> = new Map([
  ["TestRevisionTimeout/writes_first_byte_before_timeout", "Broken answers"],
]);

/**
 * Tests that passed on stock and do not on ours, or have no verdict there: only those are faults of
 * ours. A test is not held against us when only departures of ours failed in it.
 */
export function worseThan(
  stock: readonly SuiteResult[],
  ours: readonly SuiteResult[],
): readonly string[] {
  const there = new Map(ours.map(({ test, verdict }) => [test, verdict]));
  const isDeparture = (test: string): boolean => {
    if (DEPARTURES.has(test)) return there.get(test) === "fail";
    const failed = partsOf(test, ours).filter(({ verdict }) => verdict === "fail");
    return failed.length > 0 && failed.every((part) => isDeparture(part.test));
  };
  return stock
    .filter(({ test, verdict }) => verdict === "pass" && there.get(test) !== "pass")
    .map(({ test }) => test)
    .filter((test) => !isDeparture(test));
}

/** The tests in a test, at any depth. */
function partsOf(test: string, results: readonly SuiteResult[]): readonly SuiteResult[] {
  return results.filter((other) => other.test.startsWith(`${test}/`));
}

/** Verdicts as `go test -v` prints them, those of the tests in a test as well. */
export function readVerdicts(suite: string, output: string): readonly SuiteResult[] {
  const found = [...output.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+)/gm)];
  return found.map(([, verdict = "", test = ""]) => ({
    suite,
    test,
    verdict: verdict.toLowerCase(),
  }));
}

const TOOL = GO_TOOLS.conformance;
const LIMIT_MS = 25 * 60_000;

/** Builds suites and servers and puts what they need into the cluster. */
export async function prepareConformance(progress: Progress): Promise<void> {
  const bin = await ensureGoTool(TOOL, progress);
  const file = join(bin, "../images-ko.tar");
  if (!existsSync(file)) {
    const names = TOOL.groups.flat().map((path) => path.slice(path.lastIndexOf("/") + 1));
    const images = names.map((name) => ({
      name: `dev.local/${name}:test`,
      program: join(bin, name),
      // Where the suites call it by its path.
      folder: "ko-app",
    }));
    await writeProgramArchive(images, file);
  }
  await importArchive(file);
  const config = join(await moduleFolder(TOOL, "knative.dev/serving"), "test/config");
  for (const name of ["cluster-resources.yaml", "test-resources.yaml"]) {
    await kubectl("apply", "-f", join(config, name));
  }
}

/**
 * How long a revision may take to start while the suites run. One of their tests waits for the end of
 * it with a container that only crashes, and the others wait for that test.
 */
const PROGRESS_DEADLINE = "120s";

async function setProgressDeadline(deadline: string | null): Promise<void> {
  const data = JSON.stringify({ data: { "progress-deadline": deadline } });
  const what = ["configmap", "config-deployment", "-n", KNATIVE_NAMESPACE];
  await kubectl("patch", ...what, "--type=merge", "-p", data);
}

/** What each suite said, for who wants to know why a test failed. */
export const logOfSuite = (system: System, suite: string): string =>
  join(CACHE, `conformance-${system}-${suite}.log`);

/** Services that name no class become ours, or stock's again. */
export async function setDefaultClass(system: System): Promise<void> {
  const state = system === "stock" ? "pilotlight" : "default-class";
  await kubectl("apply", "--server-side", "--force-conflicts", "-k", stateFolder(state));
  await waitFor(
    `${CLASS[system]} as the class of services that name none`,
    async () => {
      const name = `unnamed-${randomBytes(3).toString("hex")}`;
      await deploy({ name });
      const found = await classOf(`${name}-00001`);
      await remove(name);
      if (found === CLASS[system]) return true;
      throw new Error(`the class is ${found}`);
    },
    { timeoutMs: 60_000, everyMs: 1_000 },
  );
}

async function classOf(revision: string): Promise<string> {
  interface Scaler {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  }
  const scaler = await getObject<Scaler>("podautoscaler", revision, "-n", NAMESPACE);
  return scaler?.metadata.annotations?.["autoscaling.knative.dev/class"] ?? "none";
}

/** Runs one suite, three of its tests at a time, and returns the verdict of each test. */
export async function runSuite(
  system: System,
  suite: keyof typeof TOOL.suites,
): Promise<readonly SuiteResult[]> {
  const args = [
    "-test.v",
    "-test.parallel=3",
    `-test.timeout=${LIMIT_MS}ms`,
    "-kubeconfig",
    KUBECONFIG,
    "-dockerrepo",
    "dev.local",
    "-tag",
    "test",
    "-ingress-class",
    GATEWAY.ingressClass,
    "-disable-logstream",
  ];
  const env = {
    GATEWAY_OVERRIDE: GATEWAY.externalService,
    GATEWAY_NAMESPACE_OVERRIDE: GATEWAY.namespace,
    SYSTEM_NAMESPACE: KNATIVE_NAMESPACE,
  };
  const run = { timeoutMs: LIMIT_MS + 60_000, env };
  await setProgressDeadline(PROGRESS_DEADLINE);
  const { stdout, stderr } = await attempt(join(binFolder(TOOL), suite), args, run).finally(() =>
    setProgressDeadline(null),
  );
  writeFileSync(logOfSuite(system, suite), stdout + stderr);
  const results = readVerdicts(suite, stdout);
  if (results.length === 0) throw new Error(`${suite} ran no test: ${stdout.slice(-500)}`);
  return results;
}
