/** What an engine has room for: by its own word, and by what was sent since it spoke. */
import { describe, expect, it } from "vitest";
import { Breaker } from "../../../../queue-proxy/core/breaker.ts";
import { EngineRoom } from "../../../../queue-proxy/core/engine-room.ts";
import type { QueuedCall } from "../../../../queue-proxy/core/local-queue.ts";

describe("the room of an engine", () => {
  it("is trusted when the engine says nothing of calls that wait in it", () => {
    const room = new EngineRoom();
    room.begin();
    room.report({ running: 0 });
    expect(room.takes(1e6)).toBe(true);
    expect(room.batch).toBeUndefined();
  });

  it("ends with a call that has not begun, reported or just sent", () => {
    const room = new EngineRoom();
    room.report({ running: 1, waiting: 1, kvFreeTokens: 1_000 });
    expect(room.takes(1)).toBe(false);
    room.report({ running: 1, waiting: 0 });
    room.begin();
    expect(room.takes(1)).toBe(true);
    room.begin();
    expect(room.takes(1)).toBe(false);
    room.report({ running: 2, waiting: 0 });
    expect(room.takes(1)).toBe(true);
    expect(room.batch).toBe(2);
  });

  it("is bounded by the free cache, except for the first call", () => {
    const room = new EngineRoom();
    room.report({ running: 0, waiting: 0, kvFreeTokens: 100 });
    expect(room.takes(5_000)).toBe(true);
    room.begin();
    room.report({ running: 1, waiting: 0, kvFreeTokens: 50 });
    expect([room.takes(50), room.takes(51)]).toEqual([true, false]);
  });

  it("forgets a call that ended before the engine says so", () => {
    const room = new EngineRoom();
    room.report({ running: 0, waiting: 0 });
    room.begin();
    expect(room.takes(1)).toBe(false);
    room.end();
    expect(room.takes(1)).toBe(true);
  });
});

describe("early binding at the breaker", () => {
  const call = (promptTokens: number, key: number): QueuedCall => ({
    order: `0;${key};${key}`,
    deadline: undefined,
    tenant: undefined,
    note: {
      promptTokens,
      serviceUs: 500,
      characters: 0,
      messages: 0,
      model: "",
      stage: "",
      workflowClass: "",
    },
  });

  it("holds what the engine would only let wait, in the order of the keys", () => {
    const breaker = new Breaker(8, () => 0);
    const started: string[] = [];
    const admit = (name: string, promptTokens: number, key: number): string => {
      const entrant = {
        start: () => {
          started.push(name);
          breaker.engine.begin();
        },
      };
      return breaker.admitLeased(entrant, call(promptTokens, key));
    };
    breaker.setLocal(10, Infinity);
    breaker.engine.report({ running: 0, waiting: 0, kvFreeTokens: 100 });
    expect(admit("first", 60, 5)).toBe("started");
    expect(admit("late", 30, 9)).toBe("queued");
    expect(admit("soon", 30, 1)).toBe("queued");
    expect([breaker.localWaiting, breaker.localWorkUs]).toEqual([2, 1_000]);
    breaker.engine.report({ running: 1, waiting: 0, kvFreeTokens: 40 });
    breaker.startWaiting();
    expect(started).toEqual(["first", "soon"]);
    // 10 tokens are left: the other one waits although slots are free.
    breaker.engine.report({ running: 2, waiting: 0, kvFreeTokens: 10 });
    breaker.startWaiting();
    expect(started).toEqual(["first", "soon"]);
    breaker.engine.report({ running: 2, waiting: 0, kvFreeTokens: 30 });
    breaker.startWaiting();
    expect(started).toEqual(["first", "soon", "late"]);
  });

  it("lets nobody that arrives later pass those that wait", () => {
    const breaker = new Breaker(8, () => 0);
    breaker.setLocal(10, Infinity);
    breaker.engine.report({ running: 1, waiting: 1 });
    expect(breaker.admitLeased({ start: () => {} }, call(1, 5))).toBe("queued");
    breaker.engine.report({ running: 1, waiting: 0 });
    expect(breaker.admitLeased({ start: () => {} }, call(1, 1))).toBe("queued");
  });
});
