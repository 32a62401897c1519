/**
 * The one entry behind `npm run demo`, `npm test`, `npm start` and the other npm scripts: installs
 * what is missing (packages, Node 24, Valkey), then runs the task with the right Node. Plain
 * JavaScript without dependencies, since it runs before anything is installed, on Node 20 or newer.
 *
 *   node scripts/bootstrap.mjs TASK [ARGS...]
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureChromium } from "./setup/chromium.mjs";
import { ensurePackages } from "./setup/packages.mjs";
import { ensureNode } from "./setup/node.mjs";
import { ensureSidecar } from "./setup/sidecar.mjs";
import { ensureValkey } from "./setup/valkey.mjs";
import { TASKS } from "./setup/tasks.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function main() {
  const [name, ...args] = process.argv.slice(2);
  const task = name === undefined ? undefined : TASKS[name];
  if (task === undefined) {
    console.error(`Unknown task ${JSON.stringify(name)}. Tasks: ${Object.keys(TASKS).join(", ")}`);
    return 2;
  }
  ensurePackages(root);
  const node = ensureNode(root);
  const found = task.needsStore ? { ...ensureValkey(root), ...ensureSidecar(root, node) } : {};
  const browser = task.needsBrowser ? ensureChromium() : {};
  const env = {
    ...process.env,
    ...found,
    ...browser,
    PATH: `${dirname(node)}:${join(root, "node_modules/.bin")}:${process.env.PATH ?? ""}`,
  };
  for (const step of task.steps(args)) {
    const code = await runStep(step, { node, env });
    if (code !== 0) return code;
  }
  return 0;
}

/** Runs one step with the terminal's own streams and passes signals on; the child decides when it is done. */
function runStep(step, { node, env }) {
  if (step.title) console.error(`\n── ${step.title}`);
  return new Promise((resolve) => {
    const child = spawn(node, step.args, {
      cwd: step.cwd ?? (step.here ? process.cwd() : root),
      env: { ...env, ...step.env },
      stdio: "inherit",
    });
    // A terminal sends Ctrl-C to the whole group: the child has it already, so only wait. A signal
    // sent to this process alone is handed on.
    const forward = (signal) => child.kill(signal);
    const wait = () => {};
    process.on("SIGTERM", forward);
    process.on("SIGHUP", forward);
    process.on("SIGINT", process.stdin.isTTY ? wait : forward);
    child.on("error", (error) => {
      console.error(`Cannot run ${node}: ${error.message}`);
      resolve(1);
    });
    child.on("exit", (code, signal) => {
      process.off("SIGTERM", forward);
      process.off("SIGHUP", forward);
      process.removeAllListeners("SIGINT");
      resolve(code ?? (signal === "SIGINT" ? 130 : 1));
    });
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
