/** Pods that hold a beginning of a prompt: which they are, and what that saves on their card. */
import { describe, expect, it } from "vitest";
import type { WarmPod } from "../../../../activator/core/prefix-memory.ts";
import { PrefixMemory } from "../../../../activator/core/prefix-memory.ts";
import { commonCharacters, warmPods } from "../../../../activator/core/warm-targets.ts";
import { weighCall } from "../../../../activator/core/weigh-call.ts";
import { estimateCall } from "../../../../common/hexgen/call-estimate.ts";
import type { RevisionKnowledge } from "../../../../common/hexgen/knowledge.ts";
import { NOTHING_KNOWN } from "../../../../common/hexgen/knowledge.ts";
import type { ModelBody } from "../../../../common/hexgen/model-body.ts";
import { readModelBody } from "../../../../common/hexgen/model-body.ts";

const LONG = 16_384;
const template = "You write SQL. ".repeat(2_000).slice(0, LONG);

function bodyOf(prompt: string): ModelBody {
  const body = readModelBody({ model: "m", prompt, max_tokens: 100 });
  if (body === undefined) throw new Error("no body");
  return body;
}

const learnt = (cachedShare: number): RevisionKnowledge["cards"][string] => ({
  profile: { prefillTokensPerS: 1_035, tokenUs: 33_790, batchSlope: 0 },
  calls: 50,
  error: 0.1,
  routesUs: {},
  cachedShare,
});

describe("pods that hold a beginning", () => {
  it("share as many characters as their fingerprints agree on", () => {
    const one = bodyOf(`${template}first question`);
    const other = bodyOf(`${template.slice(0, 5_000)}another schema ${template}`);
    expect(commonCharacters(one.fingerprints, other.fingerprints)).toBe(4_096);
    expect(commonCharacters(one.fingerprints, [])).toBe(0);
    expect(commonCharacters(one.fingerprints, bodyOf(`x${template}`).fingerprints)).toBe(0);
  });

  it("are those that this activator sent the beginning to, and the workflow's own", () => {
    const memory = new PrefixMemory();
    const { fingerprints } = bodyOf(`${template}a`);
    memory.sent(fingerprints.slice(0, 3), "short", 0);
    memory.sent(fingerprints, "long", 0);
    const remembered = memory.find(fingerprints, 1);
    const last = { targetUid: "own", fingerprints: fingerprints.slice(0, 4) };
    expect(warmPods(remembered, fingerprints, last)).toEqual([
      { podUid: "long", characters: LONG },
      { podUid: "own", characters: 8_192 },
      { podUid: "short", characters: 4_096 },
    ]);
    expect(warmPods([], fingerprints, { targetUid: "own", fingerprints: ["other"] })).toEqual([]);
  });

  it("are eight at most, and forgotten after ten minutes", () => {
    const memory = new PrefixMemory();
    const { fingerprints } = bodyOf(`${template}a`);
    for (let pod = 0; pod < 20; pod += 1) memory.sent(fingerprints, `pod-${pod}`, pod);
    expect(memory.find(fingerprints, 20).map(({ podUid }) => podUid)).toEqual(
      Array.from({ length: 8 }, (_, age) => `pod-${19 - age}`),
    );
    expect(memory.find(fingerprints, 600_013)).toHaveLength(7);
    const last = { targetUid: "own", fingerprints };
    const pods = warmPods(memory.find(fingerprints, 20), fingerprints, last);
    expect(pods).toHaveLength(8);
    expect(pods[0]?.podUid).toBe("own");
  });

  it("remember a bounded number of beginnings, the latest", () => {
    const memory = new PrefixMemory();
    for (let print = 0; print < 5_000; print += 1) memory.sent([`p${print}`], "pod", 0);
    expect(memory.find(["p903"], 0)).toEqual([]);
    expect(memory.find(["p904"], 0)).toHaveLength(1);
  });
});

describe("what a held beginning saves", () => {
  const warm = (pods: readonly WarmPod[], revision: RevisionKnowledge) =>
    weighCall({ rule: "wb", body, estimate, revision, known: undefined, warm: pods }).warm;
  const body = bodyOf(`${template}a`);
  const estimate = estimateCall(
    { body, stage: "candidate", outputHint: undefined },
    { ...NOTHING_KNOWN, cards: { A6000: learnt(0.5) }, pool: { A100: 1, A6000: 1 } },
    undefined,
  );

  it("is seconds of that card, so that a slow one gains most", () => {
    const pods = [{ podUid: "p", characters: LONG }];
    const knowledge = { ...NOTHING_KNOWN, cards: { A6000: learnt(0.5) } };
    const [group] = warm(pods, knowledge);
    const saved = (card: string): number =>
      (estimate.workUs.get(card) ?? 0) - (group?.workUs.get(card) ?? 0);
    // All but the last block of a prompt of 4,104 tokens; 4 characters are a token.
    expect(saved("A6000") / 1e6).toBeCloseTo(4_088 / 1_035, 2);
    expect(saved("A100") / 1e6).toBeCloseTo(4_088 / 3_028, 2);
  });

  it("is nothing on a card whose engine never served from its cache", () => {
    const pods = [{ podUid: "p", characters: LONG }];
    const knowledge = { ...NOTHING_KNOWN, cards: { A6000: learnt(0) } };
    const [group] = warm(pods, knowledge);
    expect(group?.workUs.get("A6000")).toBe(estimate.workUs.get("A6000"));
    expect(group?.workUs.get("A100")).toBeLessThan(estimate.workUs.get("A100") ?? 0);
  });

  it("puts pods that hold the same together, the longest first", () => {
    const pods = [
      { podUid: "a", characters: 8_192 },
      { podUid: "b", characters: 8_192 },
      { podUid: "c", characters: 1_024 },
    ];
    const groups = warm(pods, NOTHING_KNOWN);
    expect(groups.map(({ targetUids }) => targetUids)).toEqual([["a", "b"], ["c"]]);
  });
});
