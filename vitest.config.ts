/** Test runner configuration: one project per tier of `test/`, see CONTRIBUTING.md. */
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

export default defineConfig({
  test: {
    projects: [
      tier("unit", 10_000),
      tier("contract", 30_000),
      tier("integration", 60_000),
      tier("e2e", 180_000, 1),
    ],
  },
});
