/** Limits: which of them ends what, and that nothing else does. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { http, inBackground, WsClient } from "../clients.ts";
import type { PathName, ProtocolRow } from "../row.ts";
import { PACE } from "../pace.ts";
import { LATENESS_MS, LIMITS } from "../stage.ts";

/** F15 waits between requests as the container's own idle time wants it. */
const CONTAINER_IDLE_MS = 5_000;
const LANES = PACE.reuseLanes;
const REUSES = 200;
const PER_LANE = REUSES / LANES;

const TIMEOUT_TEXT: Readonly<Record<PathName, string>> = {
  "activator+queue-proxy": "activator request timeout",
  "queue-proxy": "request timeout",
};

export const TIMER_ROWS: readonly ProtocolRow[] = [
  {
    row: "response-start limit: 504 with stock's text",
    client: "node:http",
    waits: true,
    run: async (place) => {
      const startedAt = performance.now();
      const answer = await http(place.at("limits"), "/sleep?ms=20000");
      const tookMs = performance.now() - startedAt;
      assert.equal(answer.status, 504);
      assert.equal(answer.headers["pilotlight-reason"], "response_start_timeout");
      assert.ok(answer.body.includes(TIMEOUT_TEXT[place.path]), answer.body);
      assert.ok(
        tookMs > LIMITS.startMs * 0.95 && tookMs < LIMITS.startMs + LATENESS_MS,
        `${tookMs} ms`,
      );
    },
  },
  {
    row: `WebSocket outlives the response-start limit: ${PACE.socketMs / 1_000} s with one of ${PACE.startLimitMs / 1_000} s (F20)`,
    client: "ws",
    waits: true,
    run: async (place) => {
      const client = new WsClient(place.at("sockets"));
      await client.open();
      const beats = 12;
      for (let i = 0; i < beats; i += 1) {
        await pause(PACE.socketMs / beats);
        client.socket.send(`beat ${i}`);
        await client.says(`beat ${i}`);
      }
      assert.equal(client.closed, undefined);
      client.socket.close();
      await client.ended();
    },
  },
  {
    row: "WebSocket: the idle limit closes a silent one with 1008",
    client: "ws",
    waits: true,
    run: async (place) => {
      const client = new WsClient(place.at("limits"));
      await client.open();
      const { code, ageMs } = await client.ended(LIMITS.totalMs + LATENESS_MS);
      assert.equal(code, 1_008);
      assert.ok(ageMs > LIMITS.idleMs * 0.95 && ageMs < LIMITS.idleMs + LATENESS_MS, `${ageMs} ms`);
    },
  },
  {
    row: "WebSocket: the total limit closes a busy one with 1008",
    client: "ws",
    waits: true,
    run: async (place) => {
      const client = new WsClient(place.at("limits"));
      await client.open();
      const beating = setInterval(() => client.socket.send("beat"), 300);
      const { code, ageMs } = await client.ended(LIMITS.totalMs + LATENESS_MS);
      clearInterval(beating);
      assert.equal(code, 1_008);
      assert.ok(ageMs > LIMITS.totalMs * 0.95, `${ageMs} ms`);
    },
  },
  {
    row: "a stream that the total limit ends is cut, never completed",
    client: "node:http",
    waits: true,
    run: async (place) => {
      const call = http(place.at("limits"), "/sse?n=100&gap=300");
      await assert.rejects(call);
    },
  },
  {
    row: `silence of ${PACE.silenceMs / 1_000} s in a stream, ${PACE.lateHeadMs / 1_000} s before an answer, without a limit (F21)`,
    client: "node:http",
    waits: true,
    run: async (place) => {
      const silent = inBackground(http(place.at("web"), `/sse?n=2&gap=${PACE.silenceMs}`));
      const late = inBackground(http(place.at("web"), `/sleep?ms=${PACE.lateHeadMs}`));
      assert.match((await silent).body, /data: 2/);
      assert.equal((await late).body, "slept");
    },
  },
  {
    row: `${REUSES} POSTs by ${LANES} callers, spaced at the container's idle time of 5 s: none fails, none runs twice (F15)`,
    client: "node:http",
    waits: true,
    run: async (place) => {
      const path = `/f15-${place.path === "queue-proxy" ? "one" : "both"}`;
      const lanes = Array.from({ length: LANES }, async (_, lane) => {
        for (let i = 0; i < PER_LANE; i += 1) {
          const answer = await http(place.at("web"), path, { method: "POST", body: "x=1" });
          assert.equal(answer.status, 200, answer.body);
          // From 4.95 to 5.05 s, each request at a place of its own.
          const offsetMs = ((lane + i * 7) % 50) * 2;
          if (i < PER_LANE - 1) await pause(CONTAINER_IDLE_MS - 50 + offsetMs);
        }
      });
      await Promise.all(lanes);
      assert.equal(place.stage.web.hitsOf(path), REUSES);
    },
  },
];
