/**
 * F30 as written, with every time divided by 20: one pod, one slot, urgent calls at its full capacity
 * for five minutes, ten usual ones with a limit of 120 s.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, call } from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const FACTOR = 20;
const LOAD_MS = 300_000 / FACTOR;
const LOW_LIMIT_MS = 120_000 / FACTOR;
const STARVATION_LIMIT_MS = 60_000 / FACTOR;
const URGENT = { "x-workflow-slo-ms": String(2_000 / FACTOR) };
/** More callers than slots, each with its next call at once: the pod is never without an urgent one. */
const URGENT_CALLERS = 4;
const WORK_MS = 50;
const LOW = Array.from({ length: 10 }, (_, index) => `low-${index}`);

let valkey: ValkeyServer;
let bench: ActivatorBench;
let one: BenchActivator;
let two: BenchActivator;
let pod: StubPod;
/** Names of the calls in the order in which the container saw them. */
let begun: string[];

beforeEach(async () => {
  valkey = await startValkey();
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  [one, two] = [await bench.activator(), await bench.activator()];
  pod = await bench.pod();
  begun = [];
  pod.onRequest = (headers) => begun.push(String(headers["x-name"]));
});
afterEach(async () => {
  await bench.close();
  await valkey.stop();
});

interface Timed extends Reply {
  readonly name: string;
  readonly waitedMs: number;
}

async function ask(
  activator: BenchActivator,
  name: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Timed> {
  const startedAt = performance.now();
  const reply = await call(activator.dataUrl, `/?ms=${WORK_MS}`, {
    headers: { "x-name": name, ...headers },
  });
  return { ...reply, name, waitedMs: performance.now() - startedAt };
}

/** Urgent calls through both activators without a pause; ends with how many were answered. */
function loadUrgently(): { stop(): Promise<number> } {
  let isOn = true;
  let answered = 0;
  const callers = Array.from({ length: URGENT_CALLERS }, async (_, index) => {
    while (isOn) {
      const reply = await ask(index % 2 === 0 ? one : two, "urgent", URGENT);
      if (reply.status === 200) answered += 1;
    }
  });
  return {
    stop: async () => {
      isOn = false;
      await Promise.all(callers);
      return answered;
    },
  };
}

/** In this order in the one queue, half through each activator; they wait when this resolves. */
async function enqueue(
  names: readonly string[],
  headersOf: (name: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<readonly Promise<Timed>[]> {
  const pending: Promise<Timed>[] = [];
  for (const [index, name] of names.entries()) {
    pending.push(ask(index % 2 === 0 ? one : two, name, headersOf(name)));
    await eventually(async () => (await bench.waiting()) === index + 1);
  }
  return pending;
}

/** A call that has the slot until it is told to end. */
async function holdSlot(): Promise<() => Promise<void>> {
  const leaving = new AbortController();
  const held = call(one.dataUrl, "/?ms=600000", {
    signal: leaving.signal,
    headers: { "x-name": "first" },
  }).catch(() => undefined);
  await eventually(() => pod.running === 1);
  return async () => {
    leaving.abort();
    await held;
  };
}

describe("F30: urgent calls fill the only slot for five minutes", () => {
  it("and each of ten usual ones is served within its limit, in the order of arrival", async () => {
    await bench.configure({
      queueOrder: "urgency",
      queueTimeoutMs: LOW_LIMIT_MS,
      starvationLimitMs: STARVATION_LIMIT_MS,
    });
    await pod.register(one.push);
    const free = await holdSlot();
    const pending = await enqueue(LOW);
    const load = loadUrgently();
    const startedAt = performance.now();
    await free();
    const low = await Promise.all(pending);
    await eventually(() => performance.now() - startedAt > LOAD_MS, { timeoutMs: LOAD_MS + 1_000 });
    const urgent = await load.stop();

    for (const { name, status, headers, waitedMs } of low) {
      if (status === 200) {
        expect(waitedMs, name).toBeLessThan(LOW_LIMIT_MS + WORK_MS + 1_000);
      } else {
        expect([503, 504], name).toContain(status);
        expect(headers["pilotlight-reason"], name).toBe("queue_timeout");
        expect(Number(headers["retry-after"]), name).toBeGreaterThan(0);
      }
    }
    const served = low.filter(({ status }) => status === 200).map(({ name }) => name);
    expect(begun.filter((name) => name.startsWith("low"))).toEqual(served);
    expect(served).toEqual(LOW);
    expect(pod.mostRunning).toBe(1);
    // The urgent ones still have nearly all of it.
    expect(urgent).toBeGreaterThan(5 * served.length);
  }, 60_000);

  it("and no caller can put itself in front by what only the platform may say", async () => {
    await bench.configure({ queueOrder: "urgency", queueTimeoutMs: LOW_LIMIT_MS });
    await pod.register(one.push);
    const free = await holdSlot();
    const pending = await enqueue(["modest", "bold"], (name) =>
      name === "bold" ? { "pilotlight-order": "0;-9007199254740991;1", "pilotlight-hop": "1" } : {},
    );
    await free();
    await Promise.all(pending);
    expect(begun).toEqual(["first", "modest", "bold"]);
  });
});
