/**
 * `npm run example:text2sql`: starts the platform on this machine with one service on two kinds of
 * simulated card, answers questions over it in parallel workflows, and draws what each stage took.
 * With `--stay` the platform runs on until Ctrl+C, so that the dashboard can be looked at.
 */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startPlatform } from "../../local/main.ts";
import { Shop } from "./database.ts";
import { ModelClient } from "./model-client.ts";
import { QUESTIONS } from "./questions.ts";
import { drawTimelines, timelinePage } from "./timeline.ts";
import type { WorkflowLine } from "./timeline.ts";
import type { WorkflowResult } from "./workflow.ts";
import { Text2SqlWorkflow } from "./workflow.ts";

const HOST = "text2sql-llm.default.localhost";
const { values } = parseArgs({
  options: {
    workflows: { type: "string", default: "8" },
    slo: { type: "string", default: "12" },
    html: { type: "string", default: ".pilotlight/text2sql.html" },
    port: { type: "string", default: "0" },
    stay: { type: "boolean", default: false },
  },
});
const workflows = Number(values.workflows);
const sloMs = Number(values.slo) * 1_000;

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());

console.log("Starting the platform with one service on a simulated A100 and a simulated A6000 ...");
const platform = await startPlatform({
  files: [fileURLToPath(new URL("./service.yaml", import.meta.url))],
  port: Number(values.port),
  runFolder: ".pilotlight/text2sql",
});
try {
  console.log(`Dashboard: ${platform.urls.dashboard}`);
  const results = await answerAll(platform.urls.ingress);
  const lines = await readLines(platform.urls.dashboard);
  console.log(`\n${drawTimelines(lines)}\n`);
  for (const result of results) console.log(sentence(result));
  const file = resolve(values.html);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, timelinePage(lines));
  console.log(`\nAs a page: ${file}`);
  if (values.stay) await untilStopped();
} catch (error) {
  process.exitCode = 1;
  if (stopping.signal.aborted) console.log("Stopped.");
  else console.error(error);
} finally {
  await platform.stop(1_000);
}

/** All at once: the cards have more to do than they can, so order and budgets matter. */
async function answerAll(ingressUrl: string): Promise<readonly WorkflowResult[]> {
  using shop = new Shop();
  const client = new ModelClient(ingressUrl, HOST, stopping.signal);
  return await Promise.all(
    Array.from({ length: workflows }, (_, index) => {
      const question = QUESTIONS[index % QUESTIONS.length];
      if (question === undefined) throw new Error("There is no question.");
      const identity = { id: `question-${index + 1}`, workflowClass: "text2sql", sloMs };
      return new Text2SqlWorkflow(client, shop, identity).answer(question);
    }),
  );
}

/** What the platform itself says of the workflows; the dashboard draws the same. */
async function readLines(dashboardUrl: string): Promise<readonly WorkflowLine[]> {
  const isComplete = (lines: readonly WorkflowLine[]): boolean =>
    lines.length >= workflows && lines.every(({ isEnded }) => isEnded);
  for (let look = 0; ; look += 1) {
    const response = await fetch(`${dashboardUrl}/api/snapshot`, { signal: stopping.signal });
    const { workflows: rows = [] } = (await response.json()) as { workflows?: WorkflowLine[] };
    const lines = rows.toReversed();
    // One sample per second; the last calls close a moment after their answers.
    if (isComplete(lines) || look >= 5) return lines;
    await new Promise((done) => setTimeout(done, 1_000));
  }
}

async function untilStopped(): Promise<void> {
  console.log(`The platform runs on: ${platform.urls.dashboard} shows the same. Ctrl+C stops it.`);
  if (!stopping.signal.aborted) await once(stopping.signal, "abort");
}

function sentence({ identity, question, rows, revisions, tookMs, calls }: WorkflowResult): string {
  const pods = new Set(calls.map(({ pod }) => pod)).size;
  const took = `${(tookMs / 1_000).toFixed(2)} s`;
  const corrected = revisions === 0 ? "at once" : `after ${count(revisions, "revision")}`;
  return (
    `${identity.id}: "${question}" ${corrected}, ${count(rows, "row")}, ` +
    `${count(calls.length, "call")} on ${count(pods, "pod")}, ${took}`
  );
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
