/** Revisions and traffic of a service as its file changes. */
import { describe, expect, it } from "vitest";
import type { Launch } from "../../../local/launch.ts";
import {
  admit,
  applyDefinition,
  KEPT_INACTIVE,
  latestReady,
  nameFault,
  withoutForgotten,
} from "../../../local/revisions.ts";
import type { ServiceRecord } from "../../../local/revisions.ts";
import { parseServiceFile } from "../../../local/service-files.ts";
import type { ServiceDefinition, TrafficEntry } from "../../../local/service-types.ts";
import {
  allRoutes,
  reachableNames,
  routesOf,
  trafficProblems,
  trafficShares,
} from "../../../local/traffic.ts";
import { settle, stepForward } from "../../../local/transitions.ts";

const LAUNCH: Launch = { kind: "process", command: "sh", args: [], cwd: "/", shown: "sh" };

function definition(
  image: string,
  traffic?: readonly TrafficEntry[],
  annotations: Record<string, string> = {},
): ServiceDefinition {
  const text = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: echo }
spec: { template: { spec: { containers: [{ image: ${image} }] } } }`;
  const [service] = parseServiceFile("/srv/echo.yaml", text, {}).services;
  if (service === undefined) throw new Error("fixture is faulty");
  return { ...service, annotations, traffic: traffic ?? service.traffic };
}

interface Times {
  readonly rolloutDurationMs?: number;
  readonly admitted?: boolean;
}

function apply(
  record: ServiceRecord | undefined,
  next: ServiceDefinition,
  { rolloutDurationMs = 0, admitted = false }: Times = {},
): ServiceRecord {
  const applied = applyDefinition(record, next, { launch: LAUNCH, createdAt: 0, admitted });
  return settle(record, applied, { now: 0, rolloutDurationMs });
}

function ready(record: ServiceRecord, number: number, rolloutDurationMs = 0): ServiceRecord {
  const key = `default/echo-0000${number}` as const;
  return settle(record, admit(record, key), { now: 0, rolloutDurationMs });
}

const names = (record: ServiceRecord): string[] => record.revisions.map(({ name }) => name);
const shares = (record: ServiceRecord): string =>
  trafficShares(record)
    .map(({ revision, percent }) => `${revision.replace("echo-0000", "")}:${percent}`)
    .join(" ");
const latest = (percent: number, tag = ""): TrafficEntry => ({ revision: null, percent, tag });
const named = (number: number, percent: number, tag = ""): TrafficEntry => ({
  revision: `echo-0000${number}`,
  percent,
  tag,
});

/** Two revisions that were ready, all traffic on the second. */
const two = (): ServiceRecord =>
  ready(apply(ready(apply(undefined, definition("a")), 1), definition("b")), 2);

describe("revisions", () => {
  it("makes the first one and routes to it before it is ready", () => {
    const record = apply(undefined, definition("a"));
    expect(names(record)).toEqual(["echo-00001"]);
    expect(shares(record)).toBe("1:100");
  });

  it("makes none where the template stayed as it was", () => {
    const record = apply(undefined, definition("a"));
    const live = definition("a", undefined, { "pilotlight.dev/cooldown": "5s" });
    expect(names(apply(record, live))).toEqual(["echo-00001"]);
  });

  it("makes one for a changed template, and traffic moves when that was ready", () => {
    const first = ready(apply(undefined, definition("a")), 1);
    const second = apply(first, definition("b"));
    expect(names(second)).toEqual(["echo-00001", "echo-00002"]);
    expect(latestReady(second)?.name).toBe("echo-00001");
    expect([...reachableNames(second)].toSorted()).toEqual(["echo-00001", "echo-00002"]);

    const moved = ready(second, 2);
    expect(shares(moved)).toBe("2:100");
    expect([...reachableNames(moved)]).toEqual(["echo-00002"]);
  });

  it("moves traffic at once where no pod is asked for at first", () => {
    const first = ready(apply(undefined, definition("a")), 1);
    expect(shares(apply(first, definition("b"), { admitted: true }))).toBe("2:100");
  });

  it("makes one for another command of the same template", () => {
    const record = apply(undefined, definition("a"));
    const launch: Launch = { ...LAUNCH, args: ["-c", "other"] };
    const next = { launch, createdAt: 0, admitted: false };
    expect(names(applyDefinition(record, definition("a"), next))).toHaveLength(2);
  });

  it("takes a name from the file, for one template only", () => {
    const base = definition("a");
    const called = (image: string, name: string): ServiceDefinition => ({
      ...base,
      template: { ...definition(image).template, name },
    });
    const record = apply(apply(undefined, called("a", "echo-blue")), called("b", "echo-green"));
    expect(names(record)).toEqual(["echo-blue", "echo-green"]);
    expect(nameFault(record, called("b", "echo-green"), LAUNCH)).toBe("");
    expect(nameFault(record, called("c", "echo-blue"), LAUNCH)).toContain(
      "without a change of its name echo-blue: spec.template.metadata.name",
    );
  });

  it("keeps as many old ones as Knative does, and what is in use for ever", () => {
    let record = apply(undefined, definition("v0"));
    for (let image = 1; image <= KEPT_INACTIVE + 3; image += 1) {
      record = apply(record, definition(`v${image}`));
    }
    const kept = withoutForgotten(record, ({ name }) => name === "echo-00001");
    expect(kept.revisions).toHaveLength(KEPT_INACTIVE + 2);
    expect(names(kept).slice(0, 2)).toEqual(["echo-00001", "echo-00004"]);
    expect(withoutForgotten(kept, () => false).revisions).toHaveLength(KEPT_INACTIVE + 1);
  });
});

describe("traffic", () => {
  it("splits by percent and gives tags hosts of their own", () => {
    const record = apply(two(), definition("b", [latest(90), named(1, 10, "old")]));
    const routes = routesOf(record);
    expect(routes.map(({ host }) => host)).toEqual([
      "echo.default.localhost",
      "echo.default.svc.cluster.local",
      "old-echo.default.localhost",
      "old-echo.default.svc.cluster.local",
    ]);
    expect(shares(record)).toBe("2:90 1:10");
    expect(routes[2]?.targets).toEqual([{ revision: "echo-00001", percent: 100 }]);
  });

  const rows: [name: string, traffic: TrafficEntry[], expected: string, reachable: string[]][] = [
    ["all to the latest", [latest(100)], "2:100", ["2"]],
    ["a roll back", [named(1, 100)], "1:100", ["1"]],
    ["a split", [named(1, 80), named(2, 20)], "1:80 2:20", ["1", "2"]],
    ["two entries of one revision", [named(1, 30), named(1, 70)], "1:100", ["1"]],
    ["a tag without a share", [named(1, 100), latest(0, "next")], "1:100", ["1", "2"]],
    ["a named one and the latest being the same", [named(2, 40), latest(60)], "2:100", ["2"]],
  ];
  it.each(rows)("%s", (_name, traffic, expected, reachable) => {
    const record = apply(two(), definition("b", traffic));
    expect(shares(record)).toBe(expected);
    const reached = [...reachableNames(record)].map((name) => name.replace("echo-0000", ""));
    expect(reached.toSorted()).toEqual(reachable);
  });

  it("stays where it is while the block names a revision that is not there", () => {
    const record = apply(two(), definition("b", [named(1, 50), named(9, 50)]));
    expect(shares(record)).toBe("2:100");
    expect(trafficProblems(record)).toEqual([
      'Revision "echo-00009" referenced in traffic not found.',
    ]);
  });

  it("waits for a named revision to be ready", () => {
    const split = [named(2, 50), named(3, 50)];
    const waiting = apply(two(), definition("c", split));
    expect(trafficProblems(waiting)).toEqual(['Revision "echo-00003" is not yet ready.']);
    expect(shares(waiting)).toBe("2:100");
    expect(shares(ready(waiting, 3))).toBe("2:50 3:50");
  });

  it("gives the share of a revision that never was there to the latest", () => {
    expect(shares(apply(undefined, definition("a", [latest(50), named(9, 50)])))).toBe("1:100");
  });

  it("lets a service's own host win over a tag that reads the same", () => {
    const echo = apply(two(), definition("b", [latest(100), named(1, 0, "old")]));
    const rival = apply(undefined, {
      ...definition("x"),
      name: "old-echo",
      key: "default/old-echo",
    });
    for (const records of [
      [echo, rival],
      [rival, echo],
    ]) {
      const route = allRoutes(records).find(({ host }) => host === "old-echo.default.localhost");
      expect(route?.service).toBe("old-echo");
    }
  });
});

describe("a rollout", () => {
  const D = { rolloutDurationMs: 60_000 };
  const first = (): ServiceRecord => ready(apply(undefined, definition("a"), D), 1, 60_000);

  it("moves the share of the latest in steps and ends with all of it", () => {
    let record = ready(apply(first(), definition("b"), D), 2, 60_000);
    const seen = [shares(record)];
    while (record.rollout !== null) {
      record = stepForward(record, 0);
      seen.push(shares(record));
    }
    expect(seen).toEqual(["1:80 2:20", "1:60 2:40", "1:40 2:60", "1:20 2:80", "2:100"]);
    expect([...reachableNames(record)]).toEqual(["echo-00002"]);
  });

  it("leaves named shares alone", () => {
    const split = [latest(50), named(1, 50)];
    const before = apply(two(), definition("b", split), D);
    expect(shares(ready(apply(before, definition("c", split), D), 3, 60_000))).toBe(
      "2:40 3:10 1:50",
    );
  });

  it("has no steps for the very first revision, for a roll back, or without a duration", () => {
    expect(first().rollout).toBeNull();
    const back = apply(two(), definition("b", [named(1, 100)]), D);
    expect([back.rollout, shares(back)]).toEqual([null, "1:100"]);
    expect(ready(apply(first(), definition("b")), 2).rollout).toBeNull();
  });

  it("goes on from the split that holds when a third revision comes", () => {
    const moving = stepForward(ready(apply(first(), definition("b"), D), 2, 60_000), 0);
    expect(shares(moving)).toBe("1:60 2:40");
    const third = ready(apply(moving, definition("c"), D), 3, 60_000);
    expect(shares(third)).toBe("1:40 2:40 3:20");
  });

  it("is cut short by a roll back and by a duration of 0", () => {
    const moving = ready(apply(first(), definition("b"), D), 2, 60_000);
    expect(shares(apply(moving, definition("b", [named(1, 100)]), D))).toBe("1:100");
    expect(shares(apply(moving, definition("b")))).toBe("2:100");
  });
});
