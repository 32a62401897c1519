/**
 * Runs vitest with the arguments given and ends with one line that people and CI can read:
 * `N passed, N failed`. A run that executed no test at all counts as failed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

interface Totals {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly success: boolean;
}

const root = join(import.meta.dirname, "..");
const resultFile = join(root, ".cache", `test-results-${process.pid}.json`);
mkdirSync(join(root, ".cache"), { recursive: true });

const run = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${resultFile}`,
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: "inherit" },
);

process.exitCode = close(run.status ?? 1);

function close(status: number): number {
  if (!existsSync(resultFile)) {
    console.log("0 passed, 1 failed");
    return status === 0 ? 1 : status;
  }
  const totals = JSON.parse(readFileSync(resultFile, "utf8")) as Totals;
  rmSync(resultFile);
  // A file that fails to load has no test of its own; it still is a failure.
  const failed = Math.max(totals.numFailedTests, totals.success ? 0 : 1);
  console.log(`${totals.numPassedTests} passed, ${failed} failed`);
  if (totals.numPassedTests + totals.numFailedTests === 0) return 1;
  return status;
}
