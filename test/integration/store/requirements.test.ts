/** Requirements on the routing state as a whole, by their numbers. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../../../common/random.ts";
import type { ReportedState } from "../../../common/contracts/push.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { REVISION, pushReport, revisionConfig } from "../../support/routing.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const PODS = 200;
const EVENTS = 10_000;
const IN_FLIGHT = 64;
const STATES: readonly ReportedState[] = ["ready", "unready"];

let valkey: ValkeyServer;
let handles: StoreHandle[] = [];
beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
afterEach(async () => {
  for (const handle of handles.splice(0)) await handle.close();
});

interface PodEvent {
  readonly uid: string;
  readonly boot: number;
  readonly sequence: number;
  readonly state: ReportedState;
}

/** Events of all pods, each pod's own in order, then shuffled over a window. */
function makeEvents(random: () => number): PodEvent[] {
  const lives = new Map<string, { boot: number; sequence: number }>();
  const events = Array.from({ length: EVENTS }, () => {
    const uid = `pod-${Math.floor(random() * PODS)}`;
    const life = lives.get(uid) ?? { boot: 1, sequence: 0 };
    lives.set(uid, life);
    if (random() < 0.02) {
      life.boot += 1;
      life.sequence = 0;
    }
    life.sequence += 1;
    const state = STATES[Math.floor(random() * STATES.length)] ?? "ready";
    return { uid, boot: life.boot, sequence: life.sequence, state };
  });
  const places = events.map((_event, index) => index + random() * 400);
  const order = events.map((_event, index) => index);
  order.sort((one, other) => (places[one] ?? 0) - (places[other] ?? 0));
  return order.flatMap((index) => events[index] ?? []);
}

describe("R5", () => {
  test("10,000 events of 200 pods through three activators, in any order, end as their own last words", async () => {
    const prefix = valkey.freshPrefix();
    handles = Array.from({ length: 3 }, () => createStore({ url: valkey.url, prefix }));
    await Promise.all(handles.map((handle) => handle.ready()));
    await handles[0]?.store.configureRevision(revisionConfig({ flapThreshold: 100 }));
    const events = makeEvents(createRandom(5));
    let next = 0;
    const worker = async (index: number): Promise<void> => {
      for (let event = events[next++]; event !== undefined; event = events[next++]) {
        const { uid, ...changes } = event;
        const report = pushReport(uid, changes);
        await handles[index % handles.length]?.store.reportReadiness(report, {
          card: "",
          marks: {},
        });
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, index) => worker(index)));

    const last = new Map<string, PodEvent>();
    for (const event of events) {
      const known = last.get(event.uid);
      const isNewer =
        known === undefined ||
        event.boot > known.boot ||
        (event.boot === known.boot && event.sequence > known.sequence);
      if (isNewer) last.set(event.uid, event);
    }
    const targets = (await handles[0]?.store.readTargets(REVISION)) ?? [];
    expect(targets).toHaveLength(last.size);
    const wrong = targets.filter(({ uid, state }) => last.get(uid)?.state !== state);
    expect(wrong).toEqual([]);
  });
});
