/** Test runner configuration: one project per tier of `test/`, see CONTRIBUTING.md. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/**
 * Tiers with real processes and real time run on shared machines; CI gives such a test one second
 * chance and the report names it. Nobody gets one while developing.
 */
const SECOND_CHANCES = process.env["CI"] === undefined ? 0 : 1;

const tier = (name: string, testTimeout: number, maxWorkers = 2) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout,
    hookTimeout: testTimeout,
    maxWorkers,
    retry: name === "unit" ? 0 : SECOND_CHANCES,
    pool: "forks" as const,
  },
});

/** Tests on a real API server run where the programs of the cluster were built: npm run cluster:up. */
function hasApiServer(): boolean {
  const named = process.env["PILOTLIGHT_KUBE_BIN"] ?? "";
  return (
    named !== "" ||
    globSync(join(import.meta.dirname, ".cache/cluster/kubernetes-*/bin/kube-apiserver")).length > 0
  );
}

export default defineConfig({
  test: {
    projects: [
      tier("unit", 10_000),
      tier("contract", 30_000),
      tier("integration", 60_000),
      tier("e2e", 180_000, 1),
      ...(hasApiServer() ? [tier("cluster-api", 60_000, 1)] : []),
    ],
  },
});
