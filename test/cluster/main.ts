/**
 * `npm run test:cluster`: the proof on a real Kubernetes with a real Knative, stock and Pilotlight
 * side by side in the same rig. Ends with `N passed, N failed`.
 *
 *   npm run test:cluster -- [--json FILE] [--only WORDS] [--full | --ci] [--limit MINUTES]
 *     [--conformance] [--eventing] [--use-running [--no-images]] [--keep]
 */
import { parseArgs } from "node:util";
import { errorText } from "../../common/errors.ts";
import { ReportBuilder, exitCodeOf, writeReport } from "../../foundation/report.ts";
import { missingCapabilities } from "../../scripts/cluster/capabilities.ts";
import { anythingThere, takeDown } from "../../scripts/cluster/down.ts";
import { bringOwnImages } from "../../scripts/cluster/images/ours.ts";
import { kubectl } from "../../scripts/cluster/kubectl.ts";
import { takeLock } from "../../scripts/cluster/lock.ts";
import { Progress } from "../../scripts/cluster/progress.ts";
import { endRunning } from "../../scripts/cluster/run.ts";
import { isHealthy } from "../../scripts/cluster/status.ts";
import { bringUp } from "../../scripts/cluster/up.ts";
import { PLOT, drawRatios } from "./plot.ts";
import { addRows } from "./rows.ts";
import { EXPERIMENTS } from "./experiments.ts";
import type { Experiment, Outcome } from "./measure/measure.ts";
import { closeConnections } from "./rig/client.ts";
import { NAMESPACE } from "./rig/services.ts";
import type { System } from "./rig/system.ts";
import { StepRunner, print } from "./runner.ts";
import type { Step } from "./steps/step.ts";
import { admissionSteps } from "./steps/admission.ts";
import { apiServerSteps } from "./steps/api-server.ts";
import { fieldReportSteps } from "./steps/field-reports.ts";
import { outageSteps } from "./steps/outages.ts";
import {
  DEPARTURES,
  SUITES,
  logOfSuite,
  prepareConformance,
  runSuite,
  setDefaultClass,
  worseThan,
} from "./steps/conformance.ts";
import type { SuiteResult } from "./steps/conformance.ts";
import { eventingSteps } from "./steps/eventing.ts";
import { peopleSteps } from "./steps/people.ts";
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
    /**
     * For machines that others share: short loads, what fails is tried once more, and figures that
     * hang on the machine's speed are reported without a bar.
     */
    ci: { type: "boolean", default: false },
    /** After so many minutes the cluster is taken down, and what ran is named. */
    limit: { type: "string" },
    /** Knative's own conformance suites as well, on both systems: half an hour more. */
    conformance: { type: "boolean", default: false },
    /** Knative Eventing as well, and a service as the subscriber of a Trigger. `--full` has it too. */
    eventing: { type: "boolean", default: false },
  },
});

const report = new ReportBuilder("test:cluster");
const progress = new Progress();
const outcomes: Record<System, Map<string, Outcome>> = { stock: new Map(), pilotlight: new Map() };
const conformance: Record<System, SuiteResult[]> = { stock: [], pilotlight: [] };
const steps = new StepRunner({
  report,
  only: values.only?.split(","),
  beforeSecondTry: values.ci ? clearServices : undefined,
});

const missing = await missingCapabilities();
if (missing.length > 0) skip(missing);
else await main();

async function main(): Promise<void> {
  const release = takeLock("test:cluster");
  let isCut = false;
  const cut = (why: string, code: number): void => {
    // A signal to the whole group comes twice.
    if (isCut) return;
    isCut = true;
    endRunning();
    void leave(release, why).then(() => process.exit(code));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => cut(signal, 130));
  const minutes = Number(values.limit ?? 0);
  const late = (): void => cut(`the limit of ${minutes} minutes`, 1);
  const limit = minutes > 0 ? setTimeout(late, minutes * 60_000) : undefined;
  try {
    await steps.run({ name: "the cluster is up, with stock Knative", run: start });
    if (steps.failed === 0) await everything();
    if (!isCut) report.complete();
  } catch (error) {
    if (isCut) return;
    report.note(`Cut short: ${errorText(error)}`);
    steps.fail(errorText(error));
  } finally {
    clearTimeout(limit);
    if (!isCut) {
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
  await take(stockSteps);
  await measure("stock");
  await conform("stock");
  await steps.run({ name: "our images are built from the repository's Dockerfile", run: images });
  await take([...swapSteps, ...admissionSteps, ...proofSteps]);
  await measure("pilotlight");
  const outages = outageSteps({ awayS: values.full ? 120 : 30 });
  await take([...peopleSteps, ...fieldReportSteps, ...outages]);
  await conform("pilotlight");
  if (values.eventing || values.full) await take(eventingSteps(progress));
  await take([...wayBackSteps, ...apiServerSteps]);
  // Chosen parts are for looking at; the bars hold for the whole.
  if (values.only !== undefined) return;
  addRows(report, outcomes, { judgesSpeed: !values.ci });
  if (values.ci) return;
  drawRatios(report.report().rows);
  report.plot(PLOT);
}

async function take(some: readonly Step[]): Promise<void> {
  for (const one of some) await steps.run(one);
}

async function images(): Promise<string | void> {
  if (values["no-images"]) return "those in the nodes are used";
  await bringOwnImages(progress);
}

async function measure(system: System): Promise<void> {
  for (const experiment of EXPERIMENTS) {
    await steps.run({
      name: `${system}: ${experiment.name}`,
      run: () => experimentOn(system, experiment),
    });
  }
}

/** Knative's own suites: what passes on stock has to pass on ours. */
async function conform(system: System): Promise<void> {
  if (!values.conformance) return;
  await steps.run({
    name: `${system}: the conformance suites are ready`,
    run: () => prepareConformance(progress),
  });
  const isOurs = system === "pilotlight";
  if (isOurs) await steps.run(defaultClass("pilotlight"));
  for (const suite of SUITES) {
    await steps.run({
      name: `${system}: conformance ${suite}`,
      run: () => runConformance(system, suite),
    });
  }
  if (isOurs) await steps.run(defaultClass("stock"));
}

function defaultClass(system: System): Step {
  return {
    name: `services that name no class are ${system === "stock" ? "stock's again" : "ours"}`,
    run: () => setDefaultClass(system),
  };
}

async function runConformance(system: System, suite: (typeof SUITES)[number]): Promise<string> {
  const results = await runSuite(system, suite);
  conformance[system].push(...results);
  for (const one of results) report.addToTable("conformance", { system, ...one });
  const onStock = conformance.stock.filter((one) => one.suite === suite);
  const worse = system === "stock" ? [] : worseThan(onStock, results);
  if (worse.length > 0) {
    const why = `its log is ${logOfSuite(system, suite)}`;
    throw new Error(`passed on stock, not on ours: ${worse.join(", ")}; ${why}`);
  }
  const whole = results.filter(({ test }) => !test.includes("/"));
  const passed = whole.filter(({ verdict }) => verdict === "pass").length;
  const failed = results.filter(({ verdict }) => verdict === "fail").map(wordsOnFailure);
  return `${passed} of ${whole.length} passed${failed.length === 0 ? "" : `; failed: ${failed.join(", ")}`}`;
}

function wordsOnFailure({ test }: SuiteResult): string {
  const row = DEPARTURES.get(test);
  return row === undefined ? test : `${test} (on purpose: differences, "${row}")`;
}

async function experimentOn(system: System, experiment: Experiment): Promise<string> {
  // Of fewer than twenty the largest would stand for the 95th percentile.
  const coldStarts = values.ci ? 4 : 21;
  const outcome = await experiment.run(system, { short: !values.full, coldStarts });
  outcomes[system].set(experiment.name, outcome);
  for (const note of outcome.notes) report.note(note);
  return outcome.notes.join("; ");
}

/** What a failed step left; the example belongs to several steps. */
async function clearServices(): Promise<void> {
  const found = await kubectl("get", "ksvc", "-n", NAMESPACE, "-o", "name").catch(() => "");
  const left = found.split("\n").filter((name) => name !== "" && !name.endsWith("/echo"));
  if (left.length === 0) return;
  await kubectl("delete", "-n", NAMESPACE, ...left, "--ignore-not-found", "--timeout=60s");
}

async function tidy(): Promise<void> {
  closeConnections();
  if (values.keep || values["use-running"]) return;
  const left = await takeDown();
  if (left.length > 0) steps.fail(`nothing is left behind: ${left.join(", ")}`);
}

async function leave(release: () => void, why: string): Promise<void> {
  const during = steps.current === "" ? "" : `, during: ${steps.current}`;
  report.note(`Cut by ${why}${during}`);
  steps.fail(`cut by ${why}${during}`);
  if (!values["use-running"]) await takeDown();
  release();
  finish();
}

function finish(): void {
  const finished = report.report();
  for (const { id, value, unit, ratio, verdict } of finished.rows) {
    print(`${id} ${value} ${unit}${ratio === undefined ? "" : ` (ratio ${ratio})`}: ${verdict}`);
  }
  if (values.json !== undefined) writeReport(finished, values.json);
  const short = finished.rows.filter(({ verdict }) => verdict === "short").length;
  print(`${steps.passed} passed, ${steps.failed + short} failed`);
  process.exitCode = steps.failed > 0 ? 1 : exitCodeOf(finished);
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
