/** What targets hold of a prompt, in the choice by speed and in the books, on the real scripts. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { chooseByWorkBalance, timeOn } from "../../../common/hexgen/dispatch.ts";
import type { DispatchTarget } from "../../../common/hexgen/dispatch.ts";
import { createRandom } from "../../../common/random.ts";
import type { Random } from "../../../common/random.ts";
import type { CallDetails } from "../../../store/types.ts";
import type { RevisionConfig } from "../../../common/contracts/routing.ts";
import { REVISION, acquireRequest } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

/** The candidate stage of the benchmark, with nothing and with its template held, in us. */
const COLD = new Map([
  ["A100", 18_260_000],
  ["A6000", 34_260_000],
]);
const HELD = new Map([
  ["A100", 15_235_000],
  ["A6000", 25_412_000],
]);

let server: ValkeyServer;
let rig: StoreRig;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(() => rig.close());

async function pool(
  cards: Readonly<Record<string, string>>,
  changes: Partial<RevisionConfig> = {},
): Promise<void> {
  rig = await new StoreRig(server).start({ policy: "speed-aware", alpha: 0.3, ...changes });
  for (const [uid, card] of Object.entries(cards)) await rig.report(uid, { capacity: 0 }, card);
}

const warmOn = (...targetUids: string[]): CallDetails => ({
  workUs: COLD,
  warm: [{ targetUids, workUs: HELD }],
});

async function outstandingUs(uid: string): Promise<number | undefined> {
  return (await rig.target(uid))?.outstandingUs;
}

describe("a target that holds a beginning of the prompt", () => {
  test("is chosen among equal cards, whatever the order of admission", async () => {
    await pool({ first: "A100", second: "A100", third: "A100" });
    expect(await rig.choose({ call: { workUs: COLD } })).toBe("first");
    await rig.release("r1");
    expect(await rig.choose({ call: warmOn("third") })).toBe("third");
  });

  test("is not chosen once its work weighs more than what it saves", async () => {
    await pool({ first: "A100", second: "A100" });
    const chosen: string[] = [];
    for (let call = 0; call < 3; call += 1)
      chosen.push(await rig.choose({ call: warmOn("second") }));
    expect(chosen).toEqual(["second", "first", "second"]);
  });

  test("counts the shorter time as its work, on a free slot and from the queue alike", async () => {
    await pool({ first: "A100" }, { containerConcurrency: 1 });
    await rig.report("first", { capacity: 1 }, "A100");
    expect(await rig.choose({ call: warmOn("first") })).toBe("first");
    expect(await outstandingUs("first")).toBe(HELD.get("A100"));
    expect(await rig.choose({ call: warmOn("first") })).toBe("wait");
    expect(await rig.choose({ call: { workUs: COLD } })).toBe("wait");
    await rig.release("r1");
    expect(await outstandingUs("first")).toBe(HELD.get("A100"));
    await rig.release("r2");
    expect(await outstandingUs("first")).toBe(COLD.get("A100"));
    await rig.release("r3");
    expect(await outstandingUs("first")).toBe(0);
  });

  test("gets nothing while it has no slot, is excluded, or has no room for the prompt", async () => {
    await pool({ first: "A100", second: "A100" });
    const call = { ...warmOn("second"), promptTokens: 5_000 };
    expect(await rig.choose({ call, exclude: ["second"] })).toBe("first");
    await rig.release("r1");
    await rig.report("second", { capacity: 0, kvFreeTokens: 100 }, "A100");
    expect(await rig.choose({ call })).toBe("first");
    await rig.release("r2");
    await rig.report("second", { capacity: 0, state: "unready" }, "A100");
    expect(await rig.choose({ call: warmOn("second", "gone") })).toBe("first");
  });

  test("agrees with the definition over random pools, ties included", async () => {
    await pool({});
    const random = createRandom(7);
    const pods = Array.from({ length: 24 }, (_, ordinal) => ({
      uid: `p${ordinal}`,
      card: CARDS[ordinal % 3] ?? "",
      ordinal: ordinal + 1,
      workUs: 0,
    }));
    for (const { uid, card } of pods) await rig.report(uid, { capacity: 0 }, card);
    for (let round = 0; round < 300; round += 1) {
      const call = drawCall(random, pods);
      const expected = byDefinition(pods, call);
      const request = acquireRequest(`c${round}`, { call });
      const result = await rig.store.acquireLease(request);
      if (result.kind !== "leased") throw new Error(`answered ${result.kind}`);
      const { targetUid, workUs } = result.lease;
      expect([targetUid, workUs]).toEqual([expected?.uid, expected && timeOn(expected)]);
      const pod = pods.find(({ uid }) => uid === targetUid);
      if (pod !== undefined) pod.workUs += workUs ?? 0;
    }
    const targets = await rig.store.readTargets(REVISION);
    const kept = new Map(targets.map(({ uid, outstandingUs }) => [uid, outstandingUs]));
    expect(pods.map(({ uid }) => kept.get(uid))).toEqual(pods.map(({ workUs }) => workUs));
  });
});

const CARDS = ["A100", "A6000", "L40"];

interface Pod {
  readonly uid: string;
  readonly card: string;
  readonly ordinal: number;
  readonly workUs: number;
}

/** Few values, so that ties happen. */
function drawCall(random: Random, pods: readonly Pod[]): CallDetails {
  const workUs = new Map(CARDS.map((card) => [card, 1_000 * (1 + Math.floor(random() * 6))]));
  const held = new Map([...workUs].map(([card, us]) => [card, Math.ceil(us * random())]));
  const targetUids = pods.filter(() => random() < 0.2).map(({ uid }) => uid);
  return { workUs, warm: [{ targetUids: targetUids.slice(0, 8), workUs: held }] };
}

function byDefinition(
  pods: readonly Pod[],
  { workUs, warm = [] }: CallDetails,
): (Pod & DispatchTarget) | undefined {
  const targets = pods.map((pod) => ({
    ...pod,
    profile: pod.card,
    serviceUs: workUs?.get(pod.card) ?? 0,
    warmServiceUs: warm
      .find(({ targetUids }) => targetUids.includes(pod.uid))
      ?.workUs.get(pod.card),
    outstandingUs: pod.workUs,
    canTake: true,
  }));
  return chooseByWorkBalance(targets, 0.3);
}
