/**
 * docs/reference/metrics.md against the pages of metrics, both ways. The activator's page is that
 * of a real one; its store does not answer, which a page of metrics must bear.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createActivator } from "../../../activator/activator.ts";
import { readActivatorConfig } from "../../../activator/config.ts";
import { renderEntranceMetrics } from "../../../activator/entrance.ts";
import { createLocalIdentity } from "../../../activator/local-identity.ts";
import {
  BUCKETS_MS,
  HISTOGRAMS,
  RevisionMetrics,
  renderMetrics,
} from "../../../activator/metrics.ts";
import { renderPushMetrics } from "../../../activator/routes/push.ts";
import {
  PROCESS_METRICS,
  REVISION_GAUGES,
  renderMetrics as renderAutoscaler,
} from "../../../autoscaler/metrics.ts";
import { renderClusterMetrics } from "../../../autoscaler/cluster-metrics.ts";
import { renderWebhookMetrics } from "../../../autoscaler/webhook/metrics.ts";
import { createScalingTotals } from "../../../autoscaler/totals.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { RequestMetrics } from "../../../queue-proxy/metrics.ts";
import { createStore } from "../../../store/store.ts";
import { readPage, rowsOf, sectionOf, sorted } from "./tables.ts";

const page = readPage("metrics.md");

/** `[name, type]` of every series that a page of metrics announces. */
function typesOf(text: string): string[][] {
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((match) => [
    match[1] ?? "",
    match[2] ?? "",
  ]);
}

/** Label names of each series by its samples, in their order. */
function labelsOf(text: string): Map<string, string> {
  const types = new Map(typesOf(text).map(([name = "", type = ""]) => [name, type]));
  const result = new Map<string, string>();
  for (const match of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)) {
    const name = (match[1] ?? "").replace(/_bucket$/, "");
    if (!types.has(name)) continue;
    const names = [...(match[2] ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label);
    result.set(name, names.join(", "));
  }
  return result;
}

function documentedTypes(heading: string): string[][] {
  return rowsOf(page, heading).map(([name = "", type = ""]) => [name, type]);
}

function expectLabels(heading: string, text: string): void {
  const documented = rowsOf(page, heading).map(([name = "", , labels = ""]) => [name, labels]);
  expect(sorted(documented)).toEqual(sorted([...labelsOf(text)].map((entry) => [...entry])));
}

describe("docs/reference/metrics.md: activator", () => {
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-docs-"));
  let text = "";
  let close = async (): Promise<void> => undefined;

  beforeAll(async () => {
    // Port 1 has no server.
    const url = "redis://127.0.0.1:1";
    const env = { PILOTLIGHT_STORE_URL: url, PILOTLIGHT_RUN_FOLDER: folder };
    const handle = createStore({ url, prefix: "docs", activatorId: "docs" });
    const activator = await createActivator({
      config: readActivatorConfig(env),
      store: handle.store,
      subscriber: handle.subscriber,
      ranking: { workflows: handle.workflows, knowledge: handle.knowledge },
      identity: createLocalIdentity(folder, "secret"),
      nameRevision: () => () => ({ kind: "unknown", message: "" }),
      clock: systemClock,
      logger: createLogger({ name: "activator", level: "silent" }),
    });
    const { push } = await activator.open();
    close = async () => {
      await activator.drain();
      await handle.close();
    };
    text = await (await fetch(`http://${push}/metrics`)).text();
  });

  afterAll(async () => {
    await close();
    rmSync(folder, { recursive: true });
  });

  it("lists exactly its metrics, with their types", () => {
    const documented = [
      ...documentedTypes("Activator"),
      ...documentedTypes("Activator: the process itself"),
    ];
    expect(sorted(documented)).toEqual(sorted(typesOf(text)));
  });

  it("gives their labels", () => {
    const metrics = new RevisionMetrics("default/echo-00001", "echo");
    for (const [name] of HISTOGRAMS) metrics.observe(name, 1);
    metrics.countError("queue_full");
    metrics.countReroute("misdirected");
    metrics.countRun("success");
    metrics.countDelivery("delivered");
    const filled = [
      renderMetrics([{ metrics, waiting: 0, running: 0 }]),
      renderEntranceMetrics(new Map([["no_such_service", 1]])),
      renderPushMetrics({ accepted: 1, refused: new Map([["forbidden", 1]]) }, 1),
      text.slice(text.indexOf("# HELP pilotlight_degraded")),
    ];
    expectLabels("Activator", filled.join("\n"));
  });

  it("gives the buckets", () => {
    const listed = /in ms: ([\d., \n]+)\.\n/.exec(sectionOf(page, "Activator"))?.[1] ?? "";
    expect(listed.split(/,\s+/).map(Number)).toEqual([...BUCKETS_MS]);
  });
});

describe("docs/reference/metrics.md: queue-proxy", () => {
  const metrics = new RequestMetrics();
  metrics.observe(200, 0.1);
  const text = metrics.render({
    open: 0,
    waiting: 0,
    occupied: 0,
    capacity: 1,
    isReady: true,
    boot: 1,
  });

  it("lists exactly its metrics, with types and labels", () => {
    expect(sorted(documentedTypes("Queue-proxy"))).toEqual(sorted(typesOf(text)));
    expectLabels("Queue-proxy", text);
  });

  it("lists exactly the special ends", () => {
    const row = rowsOf(page, "Queue-proxy").find(([name]) => name?.endsWith("requests_total"));
    const documented = [...(row?.[4] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1]);
    const built = [...text.matchAll(/end="(\w+)"/g)].map((match) => match[1]);
    expect(sorted(documented)).toEqual(sorted(built));
  });
});

describe("docs/reference/metrics.md: autoscaler", () => {
  const totals = createScalingTotals().read();
  const text = renderAutoscaler({ at: 0, revisions: [], totals, queueDepth: 0, failing: 0 });

  it("lists exactly its metrics, with their types", () => {
    expect(sorted(documentedTypes("Autoscaler"))).toEqual(sorted(typesOf(text)));
  });

  it("gives the labels of a revision to exactly those that have them", () => {
    const gauges = new Set(REVISION_GAUGES.map(({ name }) => name));
    for (const [name = "", , labels] of rowsOf(page, "Autoscaler")) {
      if (gauges.has(name)) expect(labels, name).toBe("namespace, revision");
      else expect(labels, name).toBe(OTHER_LABELS.get(name) ?? "");
    }
  });
});

describe("docs/reference/metrics.md: autoscaler in a cluster", () => {
  const copy = { name: "pods", objects: 1, confirmedAt: 1, lists: 1, failures: 0 };
  const text = renderClusterMetrics({
    now: 2,
    copies: [copy],
    leadingShards: 1,
    configFaults: 0,
    failingNetworks: 0,
  });

  it("lists exactly its metrics, with types and labels", () => {
    expect(sorted(documentedTypes("Autoscaler: in a cluster"))).toEqual(sorted(typesOf(text)));
    expectLabels("Autoscaler: in a cluster", text);
  });
});

describe("docs/reference/metrics.md: webhook", () => {
  const counts = { allowed: 0, refused: 0, defaulted: 0, unreadable: 0 };
  const text = renderWebhookMetrics(counts);

  it("lists exactly its metrics, with types, labels and results", () => {
    expect(sorted(documentedTypes("Webhook"))).toEqual(sorted(typesOf(text)));
    expectLabels("Webhook", text);
    const [row = []] = rowsOf(page, "Webhook");
    const results = [...(row[4] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1]);
    expect(results).toEqual(Object.keys(counts));
  });
});

const OTHER_LABELS: ReadonlyMap<string, string> = new Map([
  ["pilotlight_autoscaler_pod_seconds_total", "namespace, revision, use"],
  [PROCESS_METRICS.decisions[0], "trigger"],
  [PROCESS_METRICS.changes[0], "direction"],
]);
