/** The choice for engines that batch, on the real scripts, against its definition. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BatchTarget } from "../../../common/hexgen/batch-dispatch.ts";
import { chooseForBatch } from "../../../common/hexgen/batch-dispatch.ts";
import type { BatchEstimate } from "../../../common/hexgen/batch-estimate.ts";
import { batchEstimate, classSpeeds } from "../../../common/hexgen/batch-estimate.ts";
import type { CallSize } from "../../../common/hexgen/cost.ts";
import type { ClassKnowledge } from "../../../common/hexgen/knowledge.ts";
import { NOTHING_KNOWN } from "../../../common/hexgen/knowledge.ts";
import { createRandom } from "../../../common/random.ts";
import type { Random } from "../../../common/random.ts";
import { acquireRequest } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const CARDS = ["A100", "A6000", "L40"];
const ALPHA = 0.3;

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

/** Long answers and long prompts, so that each card is comparatively good at one of them. */
const CLASS: ClassKnowledge = {
  template: ["candidate", "revise"].map((stage) => ({ stage, optional: false, probability: 1 })),
  stages: {
    candidate: stageOf(11_748, 678),
    revise: stageOf(5_963, 79),
  },
  workflows: 100,
};

function stageOf(inputTokens: number, outputMedian: number): ClassKnowledge["stages"][string] {
  return { calls: 100, inputTokens, outputMedian, outputUpper: outputMedian, expectedUs: 0 };
}

const NO_SIZE = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
const WAY_US = classSpeeds(CARDS, NOTHING_KNOWN, CLASS, NO_SIZE).wayUs;

interface Pod {
  readonly uid: string;
  readonly card: string;
  readonly ordinal: number;
  loadUs: number;
}

function podsOf(count: number): Pod[] {
  return Array.from({ length: count }, (_, ordinal) => ({
    uid: `p${ordinal}`,
    card: CARDS[ordinal % CARDS.length] ?? "",
    ordinal: ordinal + 1,
    loadUs: 0,
  }));
}

function estimateOf(size: CallSize): BatchEstimate {
  const speeds = classSpeeds(CARDS, NOTHING_KNOWN, CLASS, size);
  return batchEstimate({ size, revision: NOTHING_KNOWN, speeds });
}

function targetOf(pod: Pod, { workUs, weights }: BatchEstimate, canTake: boolean): BatchTarget {
  const weight = weights.get(pod.card);
  return {
    ordinal: pod.ordinal,
    serviceUs: weight?.soloUs ?? 0,
    engineUs: workUs.get(pod.card) ?? 0,
    loadUs: pod.loadUs,
    meanLogSpeed: weight?.meanLogSpeed ?? 0,
    canTake,
  };
}

async function rigWith(pods: readonly Pod[]): Promise<StoreRig> {
  const options = { policy: "speed-aware", dispatchRule: "batch", alpha: ALPHA } as const;
  const rig = await new StoreRig(server).start(options);
  for (const { uid, card } of pods) await rig.report(uid, { capacity: 0 }, card);
  return rig;
}

function drawSize(random: Random): CallSize {
  const inputTokens = [308, 5_963, 11_748, 30_000][Math.floor(random() * 4)] ?? 0;
  const outputTokens = [5, 79, 678, 2_000][Math.floor(random() * 4)] ?? 0;
  return { inputTokens, outputTokens, cachedTokens: 0 };
}

describe("the rule batch", () => {
  test.each([1, 2, 3])(
    "agrees with its definition, ties and held prompts included (%i)",
    async (seed) => {
      const random = createRandom(seed);
      const pods = podsOf(12);
      const rig = await rigWith(pods);
      const open: { readonly id: string; readonly pod: Pod; readonly us: number }[] = [];
      for (let round = 0; round < 250; round += 1) {
        const size = drawSize(random);
        const cold = estimateOf(size);
        const held = estimateOf({ ...size, cachedTokens: Math.floor(0.7 * size.inputTokens) });
        const warm = random() < 0.5 ? pods.filter(() => random() < 0.2) : [];
        const exclude = random() < 0.2 ? pods.filter(() => random() < 0.1) : [];
        const choices = pods.map((pod) => {
          const target = targetOf(pod, warm.includes(pod) ? held : cold, !exclude.includes(pod));
          return { ...target, pod };
        });
        const expected = chooseForBatch(choices, ALPHA, WAY_US);
        const id = `c${round}`;
        const result = await rig.store.acquireLease(
          acquireRequest(id, {
            exclude: exclude.map(({ uid }) => uid),
            call: { ...cold, warm: [{ targetUids: warm.map(({ uid }) => uid), ...held }] },
          }),
        );
        if (result.kind !== "leased" || expected === undefined) throw new Error("nothing chosen");
        expect([result.lease.targetUid, result.lease.workUs]).toEqual([
          expected.pod.uid,
          expected.engineUs,
        ]);
        expected.pod.loadUs += expected.engineUs;
        open.push({ id, pod: expected.pod, us: expected.engineUs });
        if (random() < 0.6) {
          const [ended] = open.splice(Math.floor(random() * open.length), 1);
          if (ended === undefined) continue;
          ended.pod.loadUs -= ended.us;
          await rig.release(ended.id);
        }
      }
      expect(new Set(open.map(({ pod }) => pod.card))).toEqual(new Set(CARDS));
      await rig.close();
    },
  );

  test("sends long answers to roomy cards and long prompts to fast ones, on a busy pool", async () => {
    const pods = podsOf(3);
    const rig = await rigWith(pods);
    const busy = estimateOf({ inputTokens: 20_000, outputTokens: 2_000, cachedTokens: 0 });
    const alike = new Map(CARDS.map((card) => [card, 60_000_000]));
    for (const { uid } of pods) {
      const exclude = pods.map((pod) => pod.uid).filter((other) => other !== uid);
      expect(await rig.choose({ exclude, call: { ...busy, workUs: alike } })).toBe(uid);
    }
    const answer = estimateOf({ inputTokens: 11_748, outputTokens: 1_500, cachedTokens: 0 });
    const prompt = estimateOf({ inputTokens: 5_963, outputTokens: 20, cachedTokens: 0 });
    expect(await rig.choose({ call: prompt })).toBe("p0");
    await rig.release("r4");
    expect(await rig.choose({ call: answer })).not.toBe("p0");
    await rig.close();
  });

  test("weighs like speed against work where nothing is known of a call's cost", async () => {
    const pods = podsOf(3);
    const rig = await rigWith(pods);
    const chosen: string[] = [];
    for (let call = 0; call < 3; call += 1) chosen.push(await rig.choose());
    expect(chosen).toEqual(["p0", "p1", "p2"]);
    await rig.close();
  });
});
