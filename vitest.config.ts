/** Test runner configuration: one project per tier of `test/`, see CONTRIBUTING.md. */
import { defineConfig } from "vitest/config";

const tier = (name: string, testTimeout: number, maxWorkers = 2) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout,
    hookTimeout: testTimeout,
    maxWorkers,
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
