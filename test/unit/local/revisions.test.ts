/** Revisions and traffic of a service as its file changes. */
import { describe, expect, it } from "vitest";
import type { Launch } from "../../../local/launch.ts";
import {
  admit,
  applyDefinition,
  latestReady,
  reachableNames,
  routesOf,
  trafficShares,
} from "../../../local/revisions.ts";
import type { ServiceRecord } from "../../../local/revisions.ts";
import { parseServiceFile } from "../../../local/service-files.ts";
import type { ServiceDefinition, TrafficEntry } from "../../../local/service-types.ts";

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

function apply(record: ServiceRecord | undefined, next: ServiceDefinition): ServiceRecord {
  return applyDefinition(record, next, { launch: LAUNCH, createdAt: 0, admitted: false });
}

const names = (record: ServiceRecord): string[] => record.revisions.map(({ name }) => name);

describe("revisions", () => {
  it("makes the first one and routes to it before it is ready", () => {
    const record = apply(undefined, definition("a"));
    expect(names(record)).toEqual(["echo-00001"]);
    expect(trafficShares(record)).toEqual([{ revision: "echo-00001", percent: 100 }]);
  });

  it("makes none where the template stayed as it was", () => {
    const record = apply(undefined, definition("a"));
    const live = definition("a", undefined, { "pilotlight.dev/cooldown": "5s" });
    expect(names(apply(record, live))).toEqual(["echo-00001"]);
  });

  it("makes one for a changed template, and traffic moves when that was ready", () => {
    const first = admit(apply(undefined, definition("a")), "default/echo-00001");
    const second = apply(first, definition("b"));
    expect(names(second)).toEqual(["echo-00001", "echo-00002"]);
    expect(latestReady(second)?.name).toBe("echo-00001");
    expect([...reachableNames(second)].toSorted()).toEqual(["echo-00001", "echo-00002"]);

    const moved = admit(second, "default/echo-00002");
    expect(trafficShares(moved)).toEqual([{ revision: "echo-00002", percent: 100 }]);
    expect([...reachableNames(moved)]).toEqual(["echo-00002"]);
  });

  it("makes one for another command of the same template", () => {
    const record = apply(undefined, definition("a"));
    const launch: Launch = { ...LAUNCH, args: ["-c", "other"] };
    const next = { launch, createdAt: 0, admitted: false };
    expect(names(applyDefinition(record, definition("a"), next))).toHaveLength(2);
  });
});

describe("traffic", () => {
  it("splits by percent and gives tags a host of their own", () => {
    const first = admit(apply(undefined, definition("a")), "default/echo-00001");
    const split = [
      { revision: null, percent: 90, tag: "" },
      { revision: "echo-00001", percent: 10, tag: "old" },
    ];
    const record = admit(apply(first, definition("b", split)), "default/echo-00002");
    const routes = routesOf(record);
    expect(routes.map(({ host }) => host)).toEqual([
      "echo.default.localhost",
      "echo.default.svc.cluster.local",
      "old-echo.default.localhost",
    ]);
    expect(routes[0]?.targets).toEqual([
      { revision: "echo-00002", percent: 90 },
      { revision: "echo-00001", percent: 10 },
    ]);
    expect(routes[2]?.targets).toEqual([{ revision: "echo-00001", percent: 100 }]);
  });

  it("gives the share of a revision that is not there to the latest", () => {
    const traffic = [
      { revision: null, percent: 50, tag: "" },
      { revision: "echo-00009", percent: 50, tag: "" },
    ];
    expect(trafficShares(apply(undefined, definition("a", traffic)))).toEqual([
      { revision: "echo-00001", percent: 100 },
    ]);
  });
});
