/**
 * `npm run cluster:up`, `cluster:down`, `cluster:status`: a real Kubernetes with a real Knative on
 * this machine, without a container engine.
 */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../common/errors.ts";
import { missingCapabilities } from "./capabilities.ts";
import { anythingThere, takeDown } from "./down.ts";
import { bringOwnImages } from "./images/ours.ts";
import { CACHE, LOGS } from "./layout.ts";
import { takeLock } from "./lock.ts";
import { Progress } from "./progress.ts";
import { endRunning } from "./run.ts";
import { isHealthy, statusText, usageText } from "./status.ts";
import { bringUp } from "./up.ts";

/** A signal came, and everything is going. */
let leaving = false;

const commands: Readonly<Record<string, () => Promise<number>>> = { up, down, status, images };

const command = commands[process.argv[2] ?? ""];
if (command === undefined) {
  console.error(`Usage: node scripts/cluster/main.ts ${Object.keys(commands).join("|")}`);
  process.exitCode = 2;
} else {
  try {
    process.exitCode = await command();
  } catch (error) {
    console.error(errorText(error));
    process.exitCode = 1;
  }
}

async function up(): Promise<number> {
  const missing = await missingCapabilities();
  if (missing.length > 0) {
    console.error(`No cluster can run here.\n${missing.map((line) => `- ${line}`).join("\n")}`);
    return 1;
  }
  const release = takeLock("cluster:up");
  const cut = (signal: NodeJS.Signals): void => void leave(signal, release);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, cut);
  try {
    if (anythingThere() && (await isHealthy())) {
      console.log(`The cluster is up already.\n${usageText()}`);
      return 0;
    }
    await sweep();
    const startedAt = performance.now();
    await bringUp(new Progress());
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.log(
      `\nThe cluster is up after ${seconds} s, with stock Knative Serving.\n${usageText()}`,
    );
    return 0;
  } catch (error) {
    // A start that is being cut fails somewhere: `leave` is removing it already.
    if (leaving) return await new Promise<number>(() => {});
    const logs = keepLogs();
    await takeDown();
    throw new Error(`${errorText(error)}\nThe logs are kept in ${logs}.`, { cause: error });
  } finally {
    release();
  }
}

async function down(): Promise<number> {
  const release = takeLock("cluster:down");
  try {
    const wasThere = anythingThere();
    const left = await takeDown();
    if (left.length > 0) {
      console.error(`This could not be removed:\n${left.map((line) => `- ${line}`).join("\n")}`);
      return 1;
    }
    console.log(wasThere ? "The cluster is gone." : "No cluster here.");
    return 0;
  } finally {
    release();
  }
}

/** Builds our images as they are in this checkout and brings them into the running nodes. */
async function images(): Promise<number> {
  if (!(await isHealthy())) {
    console.error("No cluster here: npm run cluster:up starts one.");
    return 1;
  }
  await bringOwnImages(new Progress());
  return 0;
}

async function status(): Promise<number> {
  console.log(await statusText());
  return 0;
}

/** What an earlier run left, however it ended. */
async function sweep(): Promise<void> {
  if (!anythingThere()) return;
  console.error("Removing what an earlier run left ...");
  const left = await takeDown();
  if (left.length > 0) throw new Error(`An earlier run left ${left.join(", ")}`);
}

/** Saves the logs of a start that failed from the sweep; returns where they are. */
function keepLogs(): string {
  const folder = join(CACHE, "logs-of-failed-start");
  rmSync(folder, { recursive: true, force: true });
  if (existsSync(LOGS)) cpSync(LOGS, folder, { recursive: true });
  return folder;
}

/** Ctrl-C in the middle of a start: what stands already goes again. */
async function leave(signal: NodeJS.Signals, release: () => void): Promise<void> {
  leaving = true;
  console.error(`\n${signal}: removing what was started ...`);
  endRunning();
  await takeDown();
  release();
  process.exit(130);
}
