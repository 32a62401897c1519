/** The work queue on virtual time, the decision log, and events over a real HTTP sink. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { DecisionLog, decodeRecords, encodeRecord } from "../../../autoscaler/decision-log.ts";
import type { DecisionRecord } from "../../../autoscaler/decision-log.ts";
import { explainInWords } from "../../../autoscaler/explain.ts";
import { WorkQueue } from "../../../autoscaler/work-queue.ts";
import { createEventEmitter, httpEventSink } from "../../../foundation/events.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { VirtualTime } from "../../support/autoscaler-time.ts";
import { decideSteady, settingsOf } from "../../support/autoscaler-decisions.ts";
import { eventually } from "../../support/eventually.ts";

const logger = createLogger({ name: "test", level: "silent" });

interface Run {
  readonly key: string;
  readonly finish: (error?: Error) => void;
}

function queueWith(concurrency: number): {
  queue: WorkQueue<string>;
  runs: Run[];
  time: VirtualTime;
} {
  const time = new VirtualTime(0);
  const runs: Run[] = [];
  const queue = new WorkQueue<string>({
    timers: time.timers,
    random: () => 1,
    logger,
    concurrency,
    run: (key) =>
      new Promise((resolve, reject) => {
        const finish = (error?: Error): void => (error === undefined ? resolve() : reject(error));
        runs.push({ key, finish });
      }),
  });
  return { queue, runs, time };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the work queue", () => {
  test("runs a key once at a time, and once more for all that came meanwhile", async () => {
    const { queue, runs } = queueWith(8);
    for (let times = 0; times < 3; times += 1) queue.add("a");
    expect(runs.map((run) => run.key)).toEqual(["a"]);
    runs[0]?.finish();
    await turn();
    expect(runs.map((run) => run.key)).toEqual(["a", "a"]);
    runs[1]?.finish();
    await turn();
    expect(runs).toHaveLength(2);
  });

  test("runs no more keys at once than it may", async () => {
    const { queue, runs } = queueWith(2);
    for (const key of ["a", "b", "c"]) queue.add(key);
    expect(runs.map((run) => run.key)).toEqual(["a", "b"]);
    runs[0]?.finish();
    await turn();
    expect(runs.map((run) => run.key)).toEqual(["a", "b", "c"]);
  });

  test("waits longer after each failure; ticks respect that, events do not", async () => {
    const { queue, runs, time } = queueWith(1);
    queue.add("a");
    for (const waitMs of [50, 100, 200]) {
      runs.at(-1)?.finish(new Error("broken"));
      await turn();
      const before = runs.length;
      queue.offer("a");
      await time.advance(waitMs - 1, turn);
      expect(runs).toHaveLength(before);
      await time.advance(1, turn);
      expect(runs).toHaveLength(before + 1);
    }
    runs.at(-1)?.finish(new Error("broken"));
    await turn();
    queue.add("a");
    expect(queue.failing).toBe(1);
    runs.at(-1)?.finish();
    await turn();
    expect(queue.failing).toBe(0);
    expect(time.pending).toBe(0);
  });

  test("keeps the earliest of several later looks", async () => {
    const { queue, runs, time } = queueWith(1);
    queue.addAfter("a", 100);
    queue.addAfter("a", 30);
    queue.addAfter("a", 60);
    await time.advance(29, turn);
    expect(runs).toHaveLength(0);
    await time.advance(200, turn);
    expect(runs).toHaveLength(1);
  });

  test("stops when what runs has ended, and takes nothing more", async () => {
    const { queue, runs, time } = queueWith(1);
    queue.add("a");
    queue.add("b");
    queue.addAfter("c", 10);
    let stopped = false;
    const stopping = queue.stop().then(() => (stopped = true));
    await turn();
    expect(stopped).toBe(false);
    runs[0]?.finish();
    await stopping;
    queue.add("d");
    await time.advance(100, turn);
    expect(runs.map((run) => run.key)).toEqual(["a"]);
  });
});

function record(at: number, changes: Partial<DecisionRecord> = {}): DecisionRecord {
  const { explanation } = decideSteady(settingsOf(), {});
  const base = { key: "default/a" as const, trigger: "tick" as const, from: 0, to: 0 };
  return { ...base, at, reason: "", explanation, ...changes };
}

describe("the decision log", () => {
  const steady = (at: number, pods = 1): DecisionRecord => record(at, { from: pods, to: pods });

  test("keeps a stretch in which nothing changes as one entry with its length", () => {
    const log = new DecisionLog();
    expect(log.add(steady(0))).toBe("news");
    for (let tick = 1; tick < 5_000; tick += 1) expect(log.add(steady(tick))).toBe("repeat");
    expect(log.records).toMatchObject([{ at: 4_999, firstAt: 0, repeats: 5_000 }]);
    expect(log.add(steady(5_000, 2))).toBe("news");
    expect(log.add(record(5_001, { from: 2, to: 3 }))).toBe("news");
    expect(log.records).toHaveLength(3);
  });

  test("keeps an hour, and changes longer than what lies between them", () => {
    const log = new DecisionLog();
    for (let minute = 0; minute < 120; minute += 1) {
      log.add(record(minute * 60_000, { from: minute, to: minute + 1 }));
      log.add(steady(minute * 60_000 + 1, minute + 1));
    }
    expect(log.records[0]?.at).toBeGreaterThanOrEqual(119 * 60_000 - 3_600_000);
    const busy = new DecisionLog();
    for (let at = 0; at < 700; at += 2) {
      busy.add(record(at, { from: at, to: at + 1 }));
      busy.add(steady(at + 1, at + 1));
    }
    expect(busy.records.length).toBeLessThanOrEqual(500);
    expect(busy.records.filter(({ from, to }) => from !== to)).toHaveLength(350);
  });

  test("is bounded also when changes come thick", () => {
    const log = new DecisionLog();
    for (let at = 0; at < 10_000; at += 1) log.add(record(at, { from: at, to: at + 1 }));
    expect(log.records.length).toBeLessThanOrEqual(500);
    expect(log.records.at(-1)?.at).toBe(9_999);
  });

  test("comes back from text, without what it cannot read", () => {
    const change = record(5, { from: 1, to: 2 });
    const texts = [encodeRecord(change), "not JSON", "{}"];
    expect(decodeRecords(texts, "default/a")).toEqual([change]);
  });
});

describe("a decision in words", () => {
  test.each([
    [{}, {}, {}, "nothing runs or waits"],
    [{}, { inFlight: 2.5 }, {}, "an average of 2.5 in flight takes 3 pods"],
    [
      { "scaling-buffer": "2" },
      { inFlight: 1 },
      {},
      "an average of 1 in flight takes 1 pod; 2 more as buffer",
    ],
    [
      { "max-scale": "1" },
      { inFlight: 3 },
      {},
      "an average of 3 in flight takes 3 pods; max-scale allows no more",
    ],
    [{}, {}, { busy: 1, waiting: 2, aged: 2 }, "1 running and 2 waiting need 3 pods"],
    [
      { metric: "rps", target: "2" },
      { rate: 5 },
      {},
      "an average of 5 requests per second takes 3 pods",
    ],
    [{}, {}, { currentReplicas: 4, readyPods: 4 }, "nothing runs or waits; kept by the cooldown"],
  ])("%j %j %j", (annotations: Record<string, string>, load, changes, words) => {
    const { explanation } = decideSteady(settingsOf(annotations), load, changes);
    expect(explainInWords(explanation)).toBe(words);
  });
});

describe("events", () => {
  test("arrive as CloudEvents in structured mode; a sink that fails costs the event only", async () => {
    const bodies: { type: string; subject: string; data: unknown; time: string }[] = [];
    let status = 500;
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += String(chunk)));
      request.on("end", () => {
        if (status === 202) bodies.push(JSON.parse(body));
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    // A TCP server has an address object, not a path.
    const { port } = server.address() as AddressInfo;
    const emitter = createEventEmitter({
      source: "/pilotlight/autoscaler",
      sink: httpEventSink(`http://127.0.0.1:${port}/`),
      logger,
    });
    const event = { type: "dev.pilotlight.scale.changed", subject: "default/a", at: 0 };
    emitter.emit({ ...event, data: { to: 1 } });
    await eventually(() => emitter.dropped === 1);
    status = 202;
    emitter.emit({ ...event, data: { to: 2 } });
    await eventually(() => bodies.length === 1);
    expect(bodies[0]).toMatchObject({
      type: event.type,
      subject: event.subject,
      source: "/pilotlight/autoscaler",
      time: "1970-01-01T00:00:00.000Z",
      data: { to: 2 },
    });
    await emitter.stop();
    server.closeAllConnections();
    server.close();
  });

  test("beyond the limit of the queue are dropped and counted", async () => {
    let release: () => void = () => undefined;
    const blocked = new Promise<void>((resolve) => (release = resolve));
    const emitter = createEventEmitter({
      source: "/s",
      sink: () => blocked,
      logger,
      queueLimit: 2,
    });
    for (let index = 0; index < 10; index += 1) {
      emitter.emit({ type: "t", subject: String(index), at: 0, data: {} });
    }
    expect(emitter.dropped).toBe(7);
    release();
    await emitter.stop();
  });
});
