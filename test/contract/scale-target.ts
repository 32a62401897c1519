/**
 * What every scale target must do, whatever its pods are made of. Each adapter runs this suite by
 * its name: local child pods here, Kubernetes beside them.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ScaledPod, ScaleTarget } from "../../autoscaler/ports.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { eventually } from "../support/eventually.ts";

export interface ScaleTargetRig extends AsyncDisposable {
  readonly target: ScaleTarget;
  /** A revision whose pods get ready by themselves. */
  define(name: string): Promise<RevisionKey>;
  /** A revision whose containers end at each start. */
  defineFailing(name: string): Promise<RevisionKey>;
}

const PHASES = ["pending", "starting", "ready", "unready", "terminating"];
const SOON = { timeoutMs: 25_000 };

export function testScaleTarget(name: string, open: () => Promise<ScaleTargetRig>): void {
  describe(`scale target: ${name}`, () => {
    let rig: ScaleTargetRig;
    beforeEach(async () => {
      rig = await open();
    });
    afterEach(() => rig[Symbol.asyncDispose]());

    const scale = (key: RevisionKey, replicas: number, leaveOrder: string[] = []): Promise<void> =>
      rig.target.writeScale({ key, replicas, leaveOrder, decidedAt: Date.now(), reason: "test" });
    const pods = (key: RevisionKey): Promise<readonly ScaledPod[]> => rig.target.listPods(key);
    const readyPods = async (key: RevisionKey, count: number): Promise<readonly ScaledPod[]> =>
      eventually(async () => {
        const all = await pods(key);
        const isSo = all.length === count && all.every(({ phase }) => phase === "ready");
        return isSo ? all : undefined;
      }, SOON);
    const uids = (all: readonly ScaledPod[]): string[] => all.map(({ uid }) => uid).toSorted();

    it("has nothing of a revision that was never scaled", async () => {
      const key = await rig.define("still");
      expect(await rig.target.readScale(key)).toBe(0);
      expect(await pods(key)).toEqual([]);
    });

    it("makes as many pods as asked, each with a name and an identity of its own", async () => {
      const key = await rig.define("pair");
      await scale(key, 2);
      expect(await rig.target.readScale(key)).toBe(2);
      const all = await readyPods(key, 2);
      expect(new Set(uids(all)).size).toBe(2);
      expect(new Set(all.map((pod) => pod.name)).size).toBe(2);
      for (const pod of all) {
        expect(PHASES).toContain(pod.phase);
        expect(pod.card).not.toBe("");
        expect(pod.failure).toBeNull();
        expect(Math.abs(Date.now() - pod.createdAt)).toBeLessThan(60_000);
      }
    });

    it("changes nothing when the same scale is written again", async () => {
      const key = await rig.define("same");
      await scale(key, 1);
      const before = uids(await readyPods(key, 1));
      await scale(key, 1);
      expect(uids(await readyPods(key, 1))).toEqual(before);
    });

    it("sends away whom the order names first, and keeps the others", async () => {
      const key = await rig.define("order");
      await scale(key, 2);
      const [stays, leaves] = await readyPods(key, 2);
      await scale(key, 1, [leaves?.uid ?? "", stays?.uid ?? ""]);
      expect(uids(await readyPods(key, 1))).toEqual([stays?.uid]);
      await scale(key, 0);
      await eventually(async () => (await pods(key)).length === 0, SOON);
      expect(await rig.target.readScale(key)).toBe(0);
    });

    it("settles on one of several scales that come at once", async () => {
      const key = await rig.define("burst");
      await Promise.all([scale(key, 3), scale(key, 1), scale(key, 2)]);
      const wanted = await rig.target.readScale(key);
      expect([1, 2, 3]).toContain(wanted);
      await readyPods(key, wanted);
    });

    it("puts another pod in the place of one that it is told to replace", async () => {
      const key = await rig.define("evict");
      await scale(key, 1);
      const [old] = await readyPods(key, 1);
      await rig.target.replacePod(key, old?.uid ?? "", "test");
      const [next] = await eventually(async () => {
        const all = await readyPods(key, 1);
        return all[0]?.uid === old?.uid ? undefined : all;
      }, SOON);
      expect(next?.name).not.toBe(old?.name);
      expect(await rig.target.readScale(key)).toBe(1);
      await rig.target.replacePod(key, old?.uid ?? "", "it is gone already");
      expect(uids(await readyPods(key, 1))).toEqual([next?.uid]);
    });

    it("tells of pods that come, get ready and go, each with its revision", async () => {
      const [key, other] = [await rig.define("told"), await rig.define("quiet")];
      const told: RevisionKey[] = [];
      rig.target.onPodsChanged((changed) => void told.push(changed));
      await scale(key, 1);
      await readyPods(key, 1);
      const upToReady = told.length;
      expect(upToReady).toBeGreaterThan(0);
      await scale(key, 0);
      await eventually(async () => (await pods(key)).length === 0, SOON);
      await eventually(() => told.length > upToReady, SOON);
      expect(new Set(told)).toEqual(new Set([key]));
      expect(told).not.toContain(other);
    });

    it("keeps revisions apart", async () => {
      const [left, right] = [await rig.define("left"), await rig.define("right")];
      await Promise.all([scale(left, 1), scale(right, 1)]);
      const [one, two] = [await readyPods(left, 1), await readyPods(right, 1)];
      expect(uids(one)).not.toEqual(uids(two));
      await scale(left, 0);
      await eventually(async () => (await pods(left)).length === 0, SOON);
      expect(uids(await readyPods(right, 1))).toEqual(uids(two));
    });

    it("counts starts that fail, and says why", async () => {
      const key = await rig.defineFailing("doomed");
      await scale(key, 1);
      const failure = await eventually(async () => {
        const found = (await pods(key)).find((pod) => (pod.failure?.count ?? 0) >= 2);
        return found?.failure ?? undefined;
      }, SOON);
      expect(failure?.reason).not.toBe("");
      expect(failure?.message).not.toBe("");
      expect((await pods(key)).every(({ phase }) => phase !== "ready")).toBe(true);
    });
  });
}
