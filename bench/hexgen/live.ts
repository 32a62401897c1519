/**
 * A live run beside its simulation: the same workflows, arrivals and objectives through a real
 * activator, real sidecars and simulated engines whose clock runs faster than ours. What is measured
 * are the product's decisions and delays; the cards alone are imitated, by sleeping.
 */
import { Agent, request } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { DispatchRule, QueueOrder, RevisionConfig } from "../../common/contracts/routing.ts";
import { roundHalfUp, serviceUs } from "../../common/hexgen/cost.ts";
import type { ClassKnowledge, RevisionKnowledge } from "../../common/hexgen/knowledge.ts";
import { meanOverPool } from "../../common/hexgen/call-estimate.ts";
import { MEASURED_CALLS } from "../../common/hexgen/knowledge.ts";
import { knownCard } from "../../common/hexgen/known-cards.ts";
import type { SimulatedPolicy } from "../../autoscaler/simulator/hexgen/scenario.ts";
import { simulate } from "../../autoscaler/simulator/hexgen/simulate.ts";
import { summarize } from "../../autoscaler/simulator/hexgen/summary.ts";
import {
  BENCHMARK_POOL,
  baseSloUs,
  createPool,
  TEXT2SQL,
} from "../../autoscaler/simulator/hexgen/text2sql.ts";
import type { TracedStage, TracedWorkflow } from "../../autoscaler/simulator/hexgen/workload.ts";
import { ActivatorBench, HOST, REVISION } from "../../test/support/activator-bench.ts";
import { eventually } from "../../test/support/eventually.ts";
import { startValkey } from "../../test/support/valkey.ts";
import { startActivator } from "../routing/processes.ts";
import type { LiveFigures } from "./live-judge.ts";
import { startPods } from "./live-pods.ts";
import { createScenario } from "./runs.ts";

/** The cards' clocks: a decode step of an A100 takes a millisecond of ours. */
const TIME_SCALE = 20;
const SEED = 1;
const SETTING = { ratePerS: 0.5, sloScales: [15] };
const TRACE = "trace1";
/** No engine of the pool ever holds as many: its cache is full before. */
const CONCURRENCY = 1_000;

export interface LivePolicy {
  readonly name: string;
  readonly policy: RevisionConfig["policy"];
  readonly order: QueueOrder;
  readonly rule?: DispatchRule;
  readonly simulated: SimulatedPolicy;
}

export const LIVE_POLICIES: readonly LivePolicy[] = [
  {
    name: "RR+FCFS",
    policy: "round-robin",
    order: "fifo",
    simulated: { dispatch: "rr", alpha: 0, order: "fifo", admission: "backfill" },
  },
  {
    name: "WB+PQ",
    policy: "speed-aware",
    order: "pq",
    simulated: {
      dispatch: "wb",
      alpha: 0.3,
      order: "pq",
      admission: "backfill",
      variant: "platform-budgets",
    },
  },
  {
    name: "WB+urgency",
    policy: "speed-aware",
    order: "urgency",
    simulated: { dispatch: "wb", alpha: 0.3, order: "urgency", admission: "backfill" },
  },
  {
    name: "batch+urgency",
    policy: "speed-aware",
    order: "urgency",
    rule: "batch",
    simulated: { dispatch: "batch", alpha: 0.3, order: "urgency", admission: "backfill" },
  },
];

/** All policies, one after the other, each with processes and a store of its own. */
export async function runLive(policies = LIVE_POLICIES): Promise<LiveFigures[]> {
  const figures: LiveFigures[] = [];
  for (const policy of policies) figures.push(await runOne(policy));
  return figures;
}

async function runOne(policy: LivePolicy): Promise<LiveFigures> {
  const server = await startValkey();
  const rig = new ActivatorBench(server.url, "live:");
  const activator = await startActivator({ ...rig.environment, PILOTLIGHT_ACTIVATOR_ID: "live" });
  try {
    await configure(rig, policy);
    const pods = await startPods({
      rig,
      push: activator.message.push,
      cards: BENCHMARK_POOL,
      timeScale: TIME_SCALE,
      concurrency: CONCURRENCY,
    });
    try {
      await eventually(async () => (await readyTargets(rig)) === BENCHMARK_POOL.length, {
        timeoutMs: 30_000,
        what: "all pods ready",
      });
      return await measure(policy, activator.message.dataUrl);
    } finally {
      await pods.stop();
    }
  } finally {
    await activator.stop();
    await rig.close();
    await server.stop();
  }
}

async function readyTargets(rig: ActivatorBench): Promise<number> {
  const targets = await rig.store.readTargets(REVISION);
  return targets.filter(({ state }) => state === "ready").length;
}

/** What the autoscaler would have learnt is written at once: the run judges dispatch, not learning. */
async function configure(rig: ActivatorBench, policy: LivePolicy): Promise<void> {
  const { knowledge } = rig.handle;
  await knowledge.writeKnowledge(REVISION, JSON.stringify(revisionKnowledge()));
  await knowledge.writeClass("default", "text2sql", JSON.stringify(classKnowledge()));
  const longMs = 3_600_000;
  await rig.configure({
    policy: policy.policy,
    queueOrder: policy.order,
    binding: "early",
    ...(policy.rule === undefined ? {} : { dispatchRule: policy.rule }),
    alpha: 0.3,
    containerConcurrency: CONCURRENCY,
    localQueue: 10_000,
    queueDepth: 10_000,
    queueTimeoutMs: longMs,
    timeoutMs: longMs,
    starvationLimitMs: longMs,
  });
}

function revisionKnowledge(): RevisionKnowledge {
  const cards: Record<string, RevisionKnowledge["cards"][string]> = {};
  const pool: Record<string, number> = {};
  for (const name of BENCHMARK_POOL) {
    pool[name] = (pool[name] ?? 0) + 1;
    const known = knownCard(name)?.profile;
    if (known === undefined) continue;
    const profile = {
      prefillTokensPerS: known.prefillTokensPerS * TIME_SCALE,
      tokenUs: known.tokenUs / TIME_SCALE,
      batchSlope: 0,
    };
    cards[name] = { profile, calls: MEASURED_CALLS, error: 0, routesUs: {}, cachedShare: 0 };
  }
  return { cards, charsPerToken: {}, pool, alpha: null };
}

function classKnowledge(): ClassKnowledge {
  const { cards, pool } = revisionKnowledge();
  const stages = Object.entries(TEXT2SQL.stages).map(([stage, facts]) => {
    const { inputTokens, outputTokens } = facts;
    const size = { inputTokens, outputTokens, cachedTokens: 0 };
    const times = Object.entries(cards).map(([card, { profile }]) => {
      return [card, serviceUs(profile, size)] as const;
    });
    const expectedUs = meanOverPool(new Map(times), pool);
    const outputs = { outputMedian: outputTokens, outputUpper: outputTokens };
    return [stage, { calls: 100, inputTokens, ...outputs, expectedUs }] as const;
  });
  return { template: TEXT2SQL.template, stages: Object.fromEntries(stages), workflows: 100 };
}

async function measure(policy: LivePolicy, url: string): Promise<LiveFigures> {
  const scenario = createScenario(TRACE, policy.simulated, SETTING, SEED);
  const simulated = summarize(simulate(scenario));
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  const startedAt = performance.now();
  const baseUs = baseSloUs(TEXT2SQL, createPool(BENCHMARK_POOL));
  let failed = 0;
  const latencies = await Promise.all(
    scenario.workflows.map(async (workflow, index) => {
      const atMs = (scenario.arrivalsUs[index] ?? 0) / (1_000 * TIME_SCALE);
      await until(startedAt + atMs);
      const beganAt = performance.now();
      const sloMs = ((scenario.sloScales[index] ?? 1) * baseUs) / (1_000 * TIME_SCALE);
      const client = { url, agent, id: `${policy.name}-${index}`, sloMs };
      if (!(await runWorkflow(client, workflow))) failed += 1;
      return ((performance.now() - beganAt) * TIME_SCALE) / 1_000;
    }),
  );
  delays.disable();
  agent.destroy();
  const sorted = latencies.toSorted((left, right) => left - right);
  const at = (percent: number): number =>
    sorted[Math.floor((percent * sorted.length) / 100)] ?? Number.NaN;
  return {
    name: policy.name,
    workflows: sorted.length,
    failed,
    live: { p50S: at(50), p95S: at(95) },
    simulated: { p50S: simulated.p50S, p95S: simulated.p95S },
    // The monitor counts its own period in.
    timersLateMs: Math.max(0, delays.percentile(99) / 1e6 - 5),
  };
}

interface WorkflowClient {
  readonly url: string;
  readonly agent: Agent;
  readonly id: string;
  readonly sloMs: number;
}

/** Stage after stage, the calls of a stage at once; true when all were answered. */
async function runWorkflow(client: WorkflowClient, workflow: TracedWorkflow): Promise<boolean> {
  const last = workflow.stages.length - 1;
  for (const [index, stage] of workflow.stages.entries()) {
    const answered = await Promise.all(
      stage.calls.map((_, part) => send(client, stage, { index, part, isFinal: index === last })),
    );
    if (answered.includes(false)) return false;
  }
  return true;
}

function send(
  client: WorkflowClient,
  stage: TracedStage,
  call: { readonly index: number; readonly part: number; readonly isFinal: boolean },
): Promise<boolean> {
  const { inputTokens = 1, outputTokens = 1 } = stage.calls[call.part] ?? {};
  const tokens = Math.max(outputTokens, 1);
  const prompt = `${client.id}/${call.index}/${call.part} `.padEnd(4 * inputTokens, "text ");
  const body = JSON.stringify({ model: "m", prompt, min_tokens: tokens, max_tokens: tokens });
  const headers = {
    host: HOST,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "x-workflow-id": client.id,
    "x-workflow-class": "text2sql",
    "x-workflow-stage": stage.stage,
    "x-workflow-stage-index": String(call.index),
    "x-workflow-call-id": `${client.id}/${call.index}/${call.part}`,
    "x-workflow-fanout": `${call.part + 1}/${stage.calls.length}`,
    "x-workflow-slo-ms": client.sloMs.toFixed(3),
    ...(call.isFinal ? { "x-workflow-final": "true" } : {}),
  };
  return new Promise((resolve) => {
    const outgoing = request(
      `${client.url}/v1/completions`,
      { method: "POST", agent: client.agent, headers },
      (response) => {
        response.resume();
        response.once("end", () => resolve(response.statusCode === 200));
        response.once("error", () => resolve(false));
      },
    );
    outgoing.once("error", () => resolve(false));
    outgoing.end(body);
  });
}

function until(at: number): Promise<void> {
  const ms = roundHalfUp(Math.max(0, at - performance.now()));
  return new Promise((resolve) => setTimeout(resolve, ms));
}
