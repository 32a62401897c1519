/**
 * What every source of revisions and every sink of their status must do. Services are given as
 * files, so that a cluster takes the very same ones.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type {
  ObjectSource,
  ScaledRevision,
  ScalerStatus,
  StatusSink,
} from "../../autoscaler/ports.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { eventually } from "../support/eventually.ts";

export interface ObjectSourceRig extends AsyncDisposable {
  readonly source: ObjectSource;
  /** Applies a Knative Service, as YAML. */
  put(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}

const SOON = { timeoutMs: 20_000 };

const serviceText = (name: string, image: string, cooldown = "10s"): string => `
apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: ${name}
  namespace: default
  annotations: { pilotlight.dev/cooldown: ${cooldown} }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/class: scaler.pilotlight.dev
        autoscaling.knative.dev/max-scale: "3"
        autoscaling.knative.dev/initial-scale: "0"
        pilotlight.dev/local-command: "true"
    spec:
      containerConcurrency: 2
      timeoutSeconds: 40
      containers: [{ image: "${image}" }]
`;

export function testObjectSource(name: string, open: () => Promise<ObjectSourceRig>): void {
  describe(`object source: ${name}`, () => {
    let rig: ObjectSourceRig;
    beforeEach(async () => {
      rig = await open();
    });
    afterEach(() => rig[Symbol.asyncDispose]());

    const newest = (service: string): ScaledRevision | undefined =>
      rig.source
        .list()
        .filter((revision) => revision.service === service)
        .toSorted((left, right) => right.revision.localeCompare(left.revision))[0];

    it("knows nothing at first, and no revision that is not there", () => {
      expect(rig.source.list()).toEqual([]);
      expect(rig.source.get("default/nobody-00001")).toBeUndefined();
    });

    it("has the revision of a service with what its file says, and tells of it", async () => {
      const told: RevisionKey[] = [];
      rig.source.onChange((key) => void told.push(key));
      const before = Date.now();
      await rig.put("one", serviceText("one", "a"));
      const revision = await eventually(() => newest("one"), SOON);
      expect(revision).toMatchObject({
        key: "default/one-00001",
        namespace: "default",
        service: "one",
        revision: "one-00001",
        containerConcurrency: 2,
        timeoutSeconds: 40,
        protocol: "http1",
        reachable: true,
      });
      expect(revision?.annotations["autoscaling.knative.dev/max-scale"]).toBe("3");
      expect(revision?.createdAt).toBeGreaterThan(before - 5_000);
      expect(revision?.trafficShare ?? 1).toBe(1);
      expect(rig.source.get("default/one-00001")).toEqual(revision);
      await eventually(() => told.includes("default/one-00001"), SOON);
    });

    it("lays live keys of the service over those of the revision, without a new one", async () => {
      await rig.put("live", serviceText("live", "a"));
      await eventually(() => newest("live"), SOON);
      const told: RevisionKey[] = [];
      rig.source.onChange((key) => void told.push(key));
      await rig.put("live", serviceText("live", "a", "3s"));
      const cooldown = (): string | undefined => {
        const revision = newest("live");
        const key = "pilotlight.dev/cooldown";
        return revision?.serviceAnnotations?.[key] ?? revision?.annotations[key];
      };
      await eventually(() => cooldown() === "3s", SOON);
      expect(newest("live")?.revision).toBe("live-00001");
      await eventually(() => told.includes("default/live-00001"), SOON);
    });

    it("has a second revision for a changed template, and the first loses its route", async () => {
      await rig.put("two", serviceText("two", "a"));
      await eventually(() => newest("two"), SOON);
      const told: RevisionKey[] = [];
      rig.source.onChange((key) => void told.push(key));
      await rig.put("two", serviceText("two", "b"));
      await eventually(() => newest("two")?.revision === "two-00002", SOON);
      await eventually(() => rig.source.get("default/two-00001")?.reachable !== true, SOON);
      expect(rig.source.get("default/two-00002")?.reachable).toBe(true);
      expect(told).toContain("default/two-00001");
    });

    it("lets a removed service go: unreachable first or at once, then gone", async () => {
      await rig.put("gone", serviceText("gone", "a"));
      await eventually(() => newest("gone"), SOON);
      const told: RevisionKey[] = [];
      rig.source.onChange((key) => void told.push(key));
      await rig.remove("gone");
      await eventually(() => newest("gone")?.reachable !== true, SOON);
      await eventually(() => newest("gone") === undefined, SOON);
      expect(rig.source.get("default/gone-00001")).toBeUndefined();
      expect(told).toContain("default/gone-00001");
    });
  });
}

export interface StatusSinkRig extends AsyncDisposable {
  readonly sink: StatusSink;
  /** Revisions that exist, to have a status. */
  readonly keys: readonly [RevisionKey, RevisionKey];
  /** What others see of the status; undefined before the first one. */
  read(key: RevisionKey): Promise<ScalerStatus | undefined>;
}

const status = (desiredScale: number): ScalerStatus => ({
  desiredScale,
  actualScale: 1,
  conditions: [
    { type: "Ready", status: "Unknown", reason: "Queued", message: "waits", changedAt: 1_000 },
    { type: "Active", status: "True", reason: "", message: "", changedAt: 2_000 },
  ],
});

export function testStatusSink(name: string, open: () => Promise<StatusSinkRig>): void {
  describe(`status sink: ${name}`, () => {
    it("shows the last status of each revision, and only of that one", async () => {
      await using rig = await open();
      const [first, second] = rig.keys;
      await rig.sink.writeStatus(first, status(1));
      await rig.sink.writeStatus(second, status(5));
      await rig.sink.writeStatus(first, status(2));
      await rig.sink.writeStatus(first, status(2));
      expect(await rig.read(first)).toEqual(status(2));
      expect(await rig.read(second)).toEqual(status(5));
    });
  });
}
