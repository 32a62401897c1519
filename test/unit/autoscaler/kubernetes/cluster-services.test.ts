/** Objects of a cluster to services as people look at them. */
import { describe, expect, it } from "vitest";
import { STOCK_DEFAULTS } from "../../../../autoscaler/core/settings/defaults.ts";
import { clusterServices } from "../../../../autoscaler/kubernetes/cluster-services.ts";
import type { ClusterObjects } from "../../../../autoscaler/kubernetes/cluster-services.ts";
import type {
  KnativeService,
  KubeCondition,
  Pod,
  PodAutoscaler,
  Revision,
} from "../../../../autoscaler/kubernetes/objects.ts";

const revision = (name: string, second: number): Revision => ({
  metadata: {
    name,
    namespace: "default",
    creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    labels: { "serving.knative.dev/service": "ocr" },
  },
  spec: { containers: [{ image: "example.com/ocr" }] },
});

const scaler = (
  name: string,
  desiredScale: number,
  conditions: readonly KubeCondition[] = [],
): PodAutoscaler => ({
  metadata: { name, namespace: "default", labels: { "serving.knative.dev/service": "ocr" } },
  spec: { containerConcurrency: 2 },
  status: { desiredScale, conditions },
});

const pod = (revisionName: string): Pod => ({
  metadata: {
    name: `${revisionName}-abc`,
    namespace: "default",
    labels: { "serving.knative.dev/revision": revisionName },
  },
  status: { phase: "Running", podIP: "10.0.0.9", conditions: [{ type: "Ready", status: "True" }] },
});

const service: KnativeService = {
  metadata: {
    name: "ocr",
    namespace: "default",
    annotations: { "pilotlight.dev/cooldown": "90s" },
  },
  status: {
    url: "http://ocr.default.example.com",
    latestCreatedRevisionName: "ocr-00003",
    conditions: [{ type: "Ready", status: "True" }],
    traffic: [
      { revisionName: "ocr-00002", latestRevision: true, percent: 80 },
      { revisionName: "ocr-00001", percent: 20, tag: "old", url: "http://old-ocr.example.com" },
    ],
  },
};

const objects = (changes: Partial<ClusterObjects> = {}): ClusterObjects => ({
  services: [service],
  revisions: [revision("ocr-00002", 2), revision("ocr-00001", 1), revision("ocr-00003", 3)],
  scalers: [scaler("ocr-00001", 0), scaler("ocr-00002", 3), scaler("ocr-00003", -1)],
  pods: [pod("ocr-00002")],
  defaults: STOCK_DEFAULTS,
  ...changes,
});

const [ocr] = clusterServices(objects());

describe("a service of a cluster", () => {
  it("has its traffic, with the latest revision by no name of its own", () => {
    expect(ocr?.traffic).toEqual([
      { revision: null, percent: 80, tag: "" },
      { revision: "ocr-00001", percent: 20, tag: "old" },
    ]);
  });

  it("has its revisions from the oldest, with shares, tags and pods", () => {
    const seen = ocr?.revisions.map(({ name, percent, tags, pods }) => [
      name,
      percent,
      tags.map(({ tag }) => tag).join(),
      pods.map(({ phase, address }) => `${phase} ${address}`).join(),
    ]);
    expect(seen).toEqual([
      ["ocr-00001", 20, "old", ""],
      ["ocr-00002", 80, "", "ready 10.0.0.9"],
      ["ocr-00003", 0, "", ""],
    ]);
  });

  it("shows live keys of the Service as in force", () => {
    expect(ocr?.revisions[1]?.settings.cooldownMs).toBe(90_000);
  });

  it("takes what nobody knows yet for no pods", () => {
    expect(ocr?.revisions.map(({ desiredScale }) => desiredScale)).toEqual([0, 3, 0]);
  });

  it("keeps a revision without route and pods as kept, the newest as active", () => {
    const later = { ...service, status: { ...service.status, traffic: [] } };
    const [seen] = clusterServices(objects({ services: [later] }));
    const active = seen?.revisions.filter((one) => one.active).map(({ name }) => name);
    expect(active).toEqual(["ocr-00002", "ocr-00003"]);
  });

  it.each([
    { name: "a start that fails", reason: "ImagePullBackOff", says: "no such image" },
    { name: "zero by its own will", reason: "NoTraffic", says: "" },
  ])("says of $name: $says", ({ reason, says }) => {
    const ready: KubeCondition = {
      type: "Ready",
      status: "False",
      reason,
      message: "no such image",
    };
    const [seen] = clusterServices(objects({ scalers: [scaler("ocr-00001", 1, [ready])] }));
    expect(seen?.revisions[0]?.problem).toBe(says);
  });

  it("is shown before anything of it is there", () => {
    const bare = { metadata: { name: "new", namespace: "default" } };
    const [seen] = clusterServices(objects({ services: [bare], revisions: [] }));
    expect(seen).toMatchObject({ key: "default/new", url: "", traffic: [], revisions: [] });
  });
});
