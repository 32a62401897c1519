/** The pure halves of the adapters: networks, statuses, revisions, costs of deletion. */
import { describe, expect, it } from "vitest";
import { deletionCosts } from "../../../../autoscaler/kubernetes/deletion-costs.ts";
import {
  desiredNetwork,
  networkReadiness,
  networkUpdate,
} from "../../../../autoscaler/kubernetes/desired-network.ts";
import type {
  PodAutoscaler,
  ServerlessService,
} from "../../../../autoscaler/kubernetes/objects.ts";
import { scaledRevision } from "../../../../autoscaler/kubernetes/scaled-revision.ts";
import {
  isSameStatus,
  podAutoscalerStatus,
} from "../../../../autoscaler/kubernetes/scaler-status.ts";
import type { ScalerStatus } from "../../../../autoscaler/ports.ts";

const scaler = (changes: Partial<PodAutoscaler> = {}): PodAutoscaler => ({
  metadata: {
    name: "echo-00001",
    namespace: "default",
    uid: "pa-1",
    generation: 3,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { "serving.knative.dev/service": "echo" },
    annotations: {
      "autoscaling.knative.dev/class": "scaler.pilotlight.dev",
      "autoscaling.knative.dev/metric": "",
      "example.dev/x": "1",
    },
  },
  spec: {
    containerConcurrency: 2,
    protocolType: "h2c",
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "echo-00001-deployment" },
  },
  ...changes,
});

const made = desiredNetwork(scaler(), 3);

function network(status: ServerlessService["status"], generation = 1): ServerlessService {
  const { metadata } = made;
  return {
    ...made,
    metadata: { ...metadata, generation },
    ...(status === undefined ? {} : { status }),
  };
}

const NAMES = { serviceName: "echo-00001", privateServiceName: "echo-00001-private" };
const READY = { type: "Ready", status: "True" } as const;

describe("the network of a revision", () => {
  it("has its name, labels and owner, and its notes but for the metric", () => {
    expect(made.metadata).toMatchObject({ name: "echo-00001", labels: scaler().metadata.labels });
    expect(made.metadata.annotations).not.toHaveProperty("autoscaling.knative.dev/metric");
    expect(made.metadata.annotations).toHaveProperty("example.dev/x");
    expect(made.metadata.ownerReferences?.[0]).toMatchObject({ uid: "pa-1", controller: true });
    expect(made.spec).toMatchObject({ mode: "Proxy", protocolType: "h2c", numActivators: 3 });
  });

  it("is not written again where it is as it must be, whatever the server added", () => {
    const present: ServerlessService = {
      ...made,
      metadata: {
        ...made.metadata,
        annotations: { ...made.metadata.annotations, "other.dev/y": "2" },
      },
    };
    expect(networkUpdate(present, made)).toBeNull();
  });

  it.each([
    { name: "mode", change: { spec: { ...made.spec, mode: "Serve" as const } } },
    { name: "activators", change: { spec: { ...made.spec, numActivators: 4 } } },
    { name: "a label", change: { metadata: { ...made.metadata, labels: {} } } },
  ])("is put right: $name", ({ change }) => {
    const update = networkUpdate({ ...made, ...change } as ServerlessService, made);
    expect(update).toMatchObject({
      spec: made.spec ?? {},
      metadata: { labels: made.metadata.labels },
    });
  });
});

describe("readiness of the network", () => {
  const of = (found: ServerlessService | undefined): object => networkReadiness(scaler(), found);

  it.each([
    { name: "is not there", found: undefined, message: "No Private Service Name", known: false },
    {
      name: "has no names",
      found: network(undefined),
      message: "No Private Service Name",
      known: false,
    },
    {
      name: "is of an older generation",
      found: network({ ...NAMES, observedGeneration: 1, conditions: [READY] }, 2),
      message: "",
      known: true,
    },
    {
      name: "has no pods",
      found: network({
        ...NAMES,
        observedGeneration: 1,
        conditions: [{ type: "Ready", status: "Unknown", message: "no endpoints" }],
      }),
      message: "no endpoints",
      known: true,
    },
  ])("is unknown while it $name", ({ found, message, known }) => {
    expect(of(found)).toEqual({
      status: "Unknown",
      reason: "NotReady",
      message,
      serviceKnown: known,
    });
  });

  it("is true when it is ready for its generation", () => {
    const found = network({ ...NAMES, observedGeneration: 1, conditions: [READY] });
    expect(of(found)).toEqual({ status: "True", reason: "", message: "", serviceKnown: true });
  });

  it("is false where it is somebody else's", () => {
    const owner = [{ uid: "other", controller: true }];
    const found = { ...made, metadata: { ...made.metadata, ownerReferences: owner } };
    expect(of(found)).toMatchObject({ status: "False", reason: "NotOwned" });
    expect(of(found)).toHaveProperty("notOwned");
  });
});

describe("the status of a PodAutoscaler", () => {
  const status = (changedAt: number): ScalerStatus => ({
    desiredScale: -1,
    actualScale: 0,
    conditions: [
      { type: "Active", status: "Unknown", reason: "Queued", message: "waits", changedAt },
      { type: "Ready", status: "True", reason: "", message: "", changedAt },
    ],
  });

  it("is complete, with both names, and every condition with its instant", () => {
    const written = podAutoscalerStatus(scaler(), undefined, status(1_700_000_000_400));
    expect(written).toEqual({
      observedGeneration: 3,
      serviceName: "",
      metricsServiceName: "",
      desiredScale: -1,
      actualScale: 0,
      conditions: [
        {
          type: "Active",
          status: "Unknown",
          reason: "Queued",
          message: "waits",
          lastTransitionTime: "2023-11-14T22:13:20Z",
        },
        { type: "Ready", status: "True", lastTransitionTime: "2023-11-14T22:13:20Z" },
      ],
    });
    const named = podAutoscalerStatus(scaler(), network(NAMES), status(0));
    expect(named).toMatchObject({
      serviceName: "echo-00001",
      metricsServiceName: "echo-00001-private",
    });
  });

  it("keeps an instant whose condition says the same, though the memory of it is newer", () => {
    const first = podAutoscalerStatus(scaler(), undefined, status(1_000));
    const again = podAutoscalerStatus(scaler({ status: first }), undefined, status(9_000_000));
    expect(again).toEqual(first);
    expect(isSameStatus(first, again)).toBe(true);
  });

  it.each([
    { observedGeneration: 2 },
    { serviceName: "x" },
    { actualScale: 9 },
    { desiredScale: 1 },
    { conditions: [] },
  ])("is written again where it shows %j", (change) => {
    const wanted = podAutoscalerStatus(scaler(), undefined, status(1_000));
    expect(isSameStatus({ ...wanted, ...change }, wanted)).toBe(false);
    expect(isSameStatus(undefined, wanted)).toBe(false);
  });
});

describe("a revision as the controller sees it", () => {
  const around = { revision: undefined, service: undefined, network: undefined };

  it("has what its objects say", () => {
    const revision = scaledRevision(scaler(), {
      ...around,
      revision: { metadata: { name: "echo-00001" }, spec: { timeoutSeconds: 40 } },
      service: {
        metadata: { name: "echo", annotations: { "pilotlight.dev/cooldown": "3s", other: "x" } },
        status: {
          traffic: [
            { revisionName: "echo-00001", percent: 20 },
            { revisionName: "echo-00002", percent: 70 },
            { revisionName: "echo-00001", percent: 10 },
          ],
        },
      },
    });
    expect(revision).toMatchObject({
      key: "default/echo-00001",
      service: "echo",
      containerConcurrency: 2,
      timeoutSeconds: 40,
      idleTimeoutSeconds: 0,
      protocol: "h2c",
      reachable: true,
      trafficShare: 0.3,
      serviceAnnotations: { "pilotlight.dev/cooldown": "3s" },
      initialised: false,
      createdAt: Date.parse("2026-01-01T00:00:00Z"),
    });
  });

  it.each([
    ["", true],
    ["Reachable", true],
    ["Unreachable", false],
  ])("with reachability %j is reachable: %s", (reachability, reachable) => {
    const { spec = {} } = scaler();
    expect(scaledRevision(scaler({ spec: { ...spec, reachability } }), around).reachable).toBe(
      reachable,
    );
  });

  it("of another class is scaled elsewhere and has no network of ours", () => {
    const { metadata } = scaler();
    const annotations = { "autoscaling.knative.dev/class": "kpa.autoscaling.knative.dev" };
    const revision = scaledRevision(scaler({ metadata: { ...metadata, annotations } }), around);
    expect(revision.scaledElsewhere).toBe(true);
    expect(revision.network).toBeUndefined();
  });

  it("bears an object with nothing but a name", () => {
    expect(scaledRevision({ metadata: { name: "bare" } }, around)).toMatchObject({
      key: "/bare",
      containerConcurrency: 0,
      protocol: "http1",
      createdAt: 0,
    });
  });
});

describe("costs of deletion", () => {
  it("are lowest for whom should go first, and nothing for those who stay", () => {
    expect([...deletionCosts(["a", "b", "c", "d"], 2)]).toEqual([
      ["a", -2],
      ["b", -1],
      ["c", 0],
      ["d", 0],
    ]);
  });

  it.each([
    { name: "all go", order: ["a", "b"], replicas: 0 },
    { name: "none goes", order: ["a", "b"], replicas: 2 },
    { name: "more are asked for", order: ["a"], replicas: 3 },
    { name: "nobody is there", order: [], replicas: 1 },
  ])("are not needed where $name", ({ order, replicas }) => {
    expect(deletionCosts(order, replicas).size).toBe(0);
  });
});
