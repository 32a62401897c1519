/** Stages whose times are badly foreseen get a wider share: from the log in the store to the class. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { Learner } from "../../../autoscaler/learner.ts";
import type { LearntRevision } from "../../../autoscaler/learner.ts";
import { tuneInThread } from "../../../autoscaler/tuner.ts";
import { encodeLogEntry } from "../../../common/contracts/call-log.ts";
import type { LoggedSample } from "../../../common/contracts/call-log.ts";
import type { StageKnowledge } from "../../../common/hexgen/knowledge.ts";
import { parseClassKnowledge } from "../../../common/hexgen/knowledge.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { REVISION, revisionConfig } from "../../support/routing.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
let handle: StoreHandle;
beforeAll(async () => {
  server = await startValkey();
  handle = createStore({ url: server.url, prefix: server.freshPrefix() });
  await handle.ready();
});
afterAll(async () => {
  await handle.close();
  await server.stop();
});

const revision: LearntRevision = {
  key: REVISION,
  config: revisionConfig({ policy: "speed-aware" }),
  alpha: 0.3,
  pool: { A100: 2 },
  lastFailureAt: 0,
};

/** Calls of one size on one card: `steady` takes what it takes, `wild` a third of that or double. */
function sample(stage: string, round: number): LoggedSample {
  const wild = round % 2 === 0 ? 0.33 : 2;
  return {
    kind: "sample",
    card: "A100",
    model: "m",
    stage,
    workflowClass: "text2sql",
    promptTokens: 3_000,
    cachedTokens: 0,
    outputTokens: 100,
    characters: 12_000,
    messages: 1,
    firstMs: 100,
    totalMs: 3_000 * (stage === "wild" ? wild : 1),
    meanBatch: 1,
  };
}

it("widens the expected time of the stage that is off, not of the others", async () => {
  const { knowledge } = handle;
  const entries = Array.from({ length: 150 }, (_, round) => [
    encodeLogEntry(sample("steady", round)),
    encodeLogEntry(sample("wild", round)),
  ]).flat();
  await knowledge.appendCalls(REVISION, entries);
  const logger = createLogger({ name: "test", level: "silent" });
  const parts = { knowledge, tune: tuneInThread, clock: systemClock, logger };
  const learner = new Learner(parts, () => undefined);
  await learner.tick([revision]);
  const known = parseClassKnowledge(await knowledge.readClass("default", "text2sql"));
  const expectedUs = (stage: string): number =>
    (known?.stages[stage] as StageKnowledge | undefined)?.expectedUs ?? 0;
  // Both have the same size on the same card, so all that differs is the room for error.
  expect(expectedUs("steady")).toBeGreaterThan(0);
  expect(expectedUs("wild") / expectedUs("steady")).toBeGreaterThan(1.3);
  expect(expectedUs("wild") / expectedUs("steady")).toBeLessThanOrEqual(2);
  // And it is named, for the dashboard and the alert.
  const [card] = Object.values(learner.knowledgeOf(REVISION)?.cards ?? {});
  expect(Object.keys(card?.stagesOff ?? {})).toEqual(["wild"]);
  expect(card?.stagesOff?.["wild"]).toBeGreaterThan(0.3);
});
