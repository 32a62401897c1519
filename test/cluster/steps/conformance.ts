/**
 * Knative's own conformance suites against what is installed now, stock or ours: built from its
 * module, their servers as images of single programs.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  binFolder,
  ensureGoTool,
  moduleFolder,
} from "../../../scripts/cluster/build/go-modules.ts";
import { GO_TOOLS } from "../../../scripts/cluster/build/pins.ts";
import { writeProgramArchive } from "../../../scripts/cluster/images/programs.ts";
import { importArchive } from "../../../scripts/cluster/images/stock.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
import { kubectl } from "../../../scripts/cluster/kubectl.ts";
import { GATEWAY, KUBECONFIG } from "../../../scripts/cluster/layout.ts";
import type { Progress } from "../../../scripts/cluster/progress.ts";
import { attempt } from "../../../scripts/cluster/run.ts";

export interface SuiteResult {
  readonly suite: string;
  readonly test: string;
  readonly verdict: string;
}

export const SUITES = ["runtime.test", "api.test"] as const;

/** Tests that passed on stock and do not on ours: only those are faults of ours. */
export function worseThan(
  stock: readonly SuiteResult[],
  ours: readonly SuiteResult[],
): readonly string[] {
  const passed = new Set(stock.filter(({ verdict }) => verdict === "pass").map(({ test }) => test));
  return ours
    .filter(({ test, verdict }) => verdict === "fail" && passed.has(test))
    .map(({ test }) => test);
}

const TOOL = GO_TOOLS.conformance;
const LIMIT_MS = 25 * 60_000;

/** Builds suites and servers and puts what they need into the cluster. */
export async function prepareConformance(progress: Progress): Promise<void> {
  const bin = await ensureGoTool(TOOL, progress);
  const file = join(bin, "../images.tar");
  if (!existsSync(file)) {
    const names = TOOL.groups.flat().map((path) => path.slice(path.lastIndexOf("/") + 1));
    const images = names.map((name) => ({
      name: `dev.local/${name}:test`,
      program: join(bin, name),
    }));
    await writeProgramArchive(images, file);
  }
  await importArchive(file);
  const config = join(await moduleFolder(TOOL, "knative.dev/serving"), "test/config");
  for (const name of ["cluster-resources.yaml", "test-resources.yaml"]) {
    await kubectl("apply", "-f", join(config, name));
  }
}

/** Runs one suite, three of its tests at a time, and returns the verdict of each test of the top level. */
export async function runSuite(suite: keyof typeof TOOL.suites): Promise<readonly SuiteResult[]> {
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
  const { stdout } = await attempt(join(binFolder(TOOL), suite), args, {
    timeoutMs: LIMIT_MS + 60_000,
    env: {
      GATEWAY_OVERRIDE: GATEWAY.externalService,
      GATEWAY_NAMESPACE_OVERRIDE: GATEWAY.namespace,
      SYSTEM_NAMESPACE: KNATIVE_NAMESPACE,
    },
  });
  const results = [...stdout.matchAll(/^--- (PASS|FAIL|SKIP): (\S+)/gm)];
  if (results.length === 0) throw new Error(`${suite} ran no test: ${stdout.slice(-500)}`);
  return results.map(([, verdict = "", test = ""]) => ({
    suite,
    test,
    verdict: verdict.toLowerCase(),
  }));
}
