/**
 * `npm run test:cluster`: the proof on a real Kubernetes with a real Knative, stock and Pilotlight
 * side by side in the same rig. Ends with `N passed, N failed`.
 *
 *   npm run test:cluster -- [--json FILE] [--only WORDS] [--full] [--conformance]
 *     [--use-running [--no-images]] [--keep]
 */
import { parseArgs } from "node:util";
import { errorText } from "../../common/errors.ts";
import { ReportBuilder, exitCodeOf, writeReport } from "../../foundation/report.ts";
import { missingCapabilities } from "../../scripts/cluster/capabilities.ts";
import { anythingThere, takeDown } from "../../scripts/cluster/down.ts";
import { bringOwnImages } from "../../scripts/cluster/images/ours.ts";
import { takeLock } from "../../scripts/cluster/lock.ts";
import { Progress } from "../../scripts/cluster/progress.ts";
import { endRunning } from "../../scripts/cluster/run.ts";
import { isHealthy } from "../../scripts/cluster/status.ts";
import { bringUp } from "../../scripts/cluster/up.ts";
import { addRows } from "./rows.ts";
import { EXPERIMENTS } from "./experiments.ts";
import type { Experiment, Outcome } from "./measure/measure.ts";
import { closeConnections } from "./rig/client.ts";
import type { System } from "./rig/system.ts";
import { SUITES, prepareConformance, runSuite, worseThan } from "./steps/conformance.ts";
import type { SuiteResult } from "./steps/conformance.ts";
import type { Step } from "./steps/step.ts";
import { stockSteps } from "./steps/stock.ts";
import { proofSteps, swapSteps, wayBackSteps } from "./steps/swap.ts";

const { values } = parseArgs({
  options: {
    json: { type: "string" },
    /** Runs only the steps and experiments whose name holds one of these words. */
    only: { type: "string" },
    "use-running": { type: "boolean", default: false },
    /** The nodes of the running cluster have our images already. */
    "no-images": { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    full: { type: "boolean", default: false },
    /** Knative's own conformance suites as well, on both systems: half an hour more. */
    conformance: { type: "boolean", default: false },
  },
});

const report = new ReportBuilder("test:cluster");
const progress = new Progress();
const outcomes: Record<System, Map<string, Outcome>> = { stock: new Map(), pilotlight: new Map() };
const conformance: Record<System, SuiteResult[]> = { stock: [], pilotlight: [] };
const counts = { passed: 0, failed: 0 };

const missing = await missingCapabilities();
if (missing.length > 0) skip(missing);
else await main();

async function main(): Promise<void> {
  const release = takeLock("test:cluster");
  let cut = "";
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      cut = signal;
      endRunning();
      void leave(release, signal);
    });
  }
  try {
    await step({ name: "the cluster is up, with stock Knative", run: start });
    if (counts.failed === 0) await everything();
    report.complete();
  } catch (error) {
    report.note(`Cut short: ${errorText(error)}`);
    counts.failed += 1;
    print(errorText(error));
  } finally {
    if (cut === "") {
      await tidy();
      release();
      finish();
    }
  }
}

async function start(): Promise<void> {
  if (values["use-running"] && (await isHealthy())) return;
  if (anythingThere()) {
    if (await isHealthy()) {
      throw new Error(
        "A cluster is up already. Take it down (npm run cluster:down), or run on it: --use-running.",
      );
    }
    await takeDown();
  }
  await bringUp(progress);
}

async function everything(): Promise<void> {
  for (const one of stockSteps) await step(one);
  await measure("stock");
  await conform("stock");
  await step({ name: "our images are built from the repository's Dockerfile", run: images });
  for (const one of [...swapSteps, ...proofSteps]) await step(one);
  await measure("pilotlight");
  await conform("pilotlight");
  for (const one of wayBackSteps) await step(one);
  // Chosen parts are for looking at; the bars hold for the whole.
  if (values.only === undefined) addRows(report, outcomes);
}

async function images(): Promise<string | void> {
  if (values["no-images"]) return "those in the nodes are used";
  await bringOwnImages(progress);
}

async function measure(system: System): Promise<void> {
  for (const experiment of EXPERIMENTS) {
    await step({
      name: `${system}: ${experiment.name}`,
      run: () => experimentOn(system, experiment),
    });
  }
}

/** Knative's own suites: what passes on stock has to pass on ours. */
async function conform(system: System): Promise<void> {
  if (!values.conformance) return;
  await step({
    name: `${system}: the conformance suites are ready`,
    run: () => prepareConformance(progress),
  });
  for (const suite of SUITES) {
    await step({
      name: `${system}: conformance ${suite}`,
      run: () => runConformance(system, suite),
    });
  }
}

async function runConformance(system: System, suite: (typeof SUITES)[number]): Promise<string> {
  const results = await runSuite(suite);
  conformance[system].push(...results);
  for (const one of results) report.addToTable("conformance", { system, ...one });
  const worse = system === "stock" ? [] : worseThan(conformance.stock, results);
  if (worse.length > 0) throw new Error(`passed on stock, failed on ours: ${worse.join(", ")}`);
  const failed = results.filter(({ verdict }) => verdict === "fail").map(({ test }) => test);
  const passed = results.filter(({ verdict }) => verdict === "pass").length;
  return `${passed} of ${results.length} passed${failed.length === 0 ? "" : `; failed: ${failed.join(", ")}`}`;
}

async function experimentOn(system: System, experiment: Experiment): Promise<string> {
  const outcome = await experiment.run(system, { short: !values.full });
  outcomes[system].set(experiment.name, outcome);
  for (const note of outcome.notes) report.note(note);
  return outcome.notes.join("; ");
}

async function step({ name, run }: Step): Promise<void> {
  if (!chosen(name)) return;
  const startedAt = performance.now();
  const ms = (): number => Math.round(performance.now() - startedAt);
  try {
    const remark = (await run()) ?? "";
    counts.passed += 1;
    report.addToTable("steps", { step: name, verdict: "pass", ms: ms(), remark });
    print(
      `pass  ${name}  (${(ms() / 1000).toFixed(1)} s)${remark === "" ? "" : `\n      ${remark}`}`,
    );
  } catch (error) {
    counts.failed += 1;
    const remark = errorText(error);
    report.addToTable("steps", { step: name, verdict: "fail", ms: ms(), remark });
    print(`FAIL  ${name}  (${(ms() / 1000).toFixed(1)} s)\n      ${remark}`);
  }
}

function chosen(name: string): boolean {
  const words = values.only?.split(",");
  const always = ["the cluster is up"];
  if (words === undefined || always.some((start) => name.startsWith(start))) return true;
  return words.some((word) => name.includes(word));
}

async function tidy(): Promise<void> {
  closeConnections();
  if (values.keep || values["use-running"]) return;
  const left = await takeDown();
  if (left.length === 0) return;
  counts.failed += 1;
  print(`FAIL  nothing is left behind: ${left.join(", ")}`);
}

async function leave(release: () => void, signal: string): Promise<void> {
  report.note(`Cut by ${signal}`);
  if (!values["use-running"]) await takeDown();
  release();
  finish();
  process.exit(130);
}

function finish(): void {
  const finished = report.report();
  for (const { id, value, unit, ratio, verdict } of finished.rows) {
    print(`${id} ${value} ${unit}${ratio === undefined ? "" : ` (ratio ${ratio})`}: ${verdict}`);
  }
  if (values.json !== undefined) writeReport(finished, values.json);
  print(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 ? 1 : exitCodeOf(finished);
}

/** Only CI may go on without a cluster; it says why, loudly. */
function skip(reasons: readonly string[]): void {
  print(`No cluster can run here:\n${reasons.map((line) => `- ${line}`).join("\n")}`);
  for (const reason of reasons) report.note(`skipped: ${reason}`);
  const inCi = process.env["CI"] !== undefined;
  if (values.json !== undefined) writeReport(report.report(), values.json);
  print(inCi ? "skipped: test:cluster\n0 passed, 0 failed" : "0 passed, 1 failed");
  process.exitCode = inCi ? 0 : 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
