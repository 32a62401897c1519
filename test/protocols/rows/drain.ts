/** Beginnings and ends of pods and activators: nobody sees a container that is not ready, or loses a request. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Http1Container } from "../containers/http1.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/queue-proxy-process.ts";
import { GrpcCaller, h2, http, inBackground, PATIENT, WsClient } from "../clients.ts";
import { PACE } from "../pace.ts";
import type { ProtocolRow, ServiceName, Target } from "../row.ts";

const KUBELET = { "user-agent": "kube-probe/1.34", "k-network-probe": "queue" };

/** F08: rounds from zero. */
const ROUNDS = 10;

export const DRAIN_ROWS: readonly ProtocolRow[] = [
  {
    row: `${ROUNDS} rounds from zero: ${PACE.bootMs / 1_000} s to boot, ${PACE.firstAnswerMs / 1_000} s to the first answer (F08)`,
    client: "node:http",
    only: "activator+queue-proxy",
    startsProcess: true,
    run: async (place) => {
      const { stage } = place;
      for (let round = 0; round < ROUNDS; round += 1) {
        const port = await freePort();
        const startedAt = performance.now();
        const call = inBackground(http(place.at("cold"), `/sleep?ms=${PACE.firstAnswerMs}`));
        const starting = inBackground(stage.startPodBefore("cold", port));
        await pause(PACE.bootMs);
        const container = await Http1Container.start(port);
        try {
          const answer = await call;
          const tookMs = performance.now() - startedAt;
          assert.equal(answer.status, 200, `round ${round + 1}: ${answer.body}`);
          assert.equal(answer.headers["pilotlight-cold-start"], "true");
          const mostMs = PACE.bootMs + PACE.firstAnswerMs + PACE.coldLateMs;
          assert.ok(tookMs < mostMs, `round ${round + 1} took ${Math.round(tookMs)} ms`);
          await starting;
        } finally {
          await stage.stopPod("cold");
          await container.stop();
        }
      }
    },
  },
  {
    row: `a container that loads for ${PACE.loadMs / 1_000} s behind an open port: held, then 200 (F02)`,
    client: "node:http",
    only: "activator+queue-proxy",
    startsProcess: true,
    run: async (place) => {
      const { stage } = place;
      stage.loading.isLoading = true;
      const call = inBackground(http(place.at("loading"), "/predict"));
      const starting = inBackground(stage.startPod("loading"));
      await eventually(() => stage.loading.hitsOf("/ready") > 0, { timeoutMs: 20_000 });
      await pause(PACE.loadMs);
      assert.equal(stage.loading.hitsOf("/predict"), 0, "reached a container that loads");
      stage.loading.isLoading = false;
      const loadedAt = performance.now();
      const answer = await call;
      assert.equal(answer.status, 200, answer.body);
      assert.equal(answer.headers["pilotlight-cold-start"], "true");
      const lateMs = performance.now() - loadedAt;
      assert.ok(lateMs < 1_500, `answered ${lateMs} ms after it had loaded`);
      await starting;
    },
  },
  {
    row: "callers who leave the queue of a cold service: nothing waits within 1 s (F04)",
    client: "node:http",
    only: "activator+queue-proxy",
    run: async (place) => {
      const { stage } = place;
      const controllers = Array.from({ length: 50 }, () => new AbortController());
      const calls = controllers.map(({ signal }) =>
        http(place.at("empty"), "/", { signal }).catch(() => undefined),
      );
      await eventually(async () => (await stage.waiting("empty")) === 50, PATIENT);
      for (const controller of controllers) controller.abort();
      const options = { timeoutMs: 1_000, what: "an empty queue" };
      await eventually(async () => (await stage.waiting("empty")) === 0, options);
      await Promise.all(calls);
    },
  },
  {
    row: `SIGTERM to the queue-proxy: ${PACE.inFlightMs / 1_000} s in flight with a limit of ${PACE.graceMs / 1_000} s (F05)`,
    client: "node:http",
    only: "queue-proxy",
    startsProcess: true,
    run: async ({ stage }) => {
      const sidecar = await stage.startSidecar("web", {
        REVISION_TIMEOUT_SECONDS: String(PACE.graceMs / 1_000),
      });
      try {
        const target = { host: sidecar.ip, port: 8_012, authority: "web" };
        const sleeps = stage.web.hitsOf("/sleep");
        const running = inBackground(http(target, `/sleep?ms=${PACE.inFlightMs}`));
        await eventually(() => stage.web.hitsOf("/sleep") > sleeps, PATIENT);
        sidecar.child.kill("SIGTERM");
        const signalAt = performance.now();
        await eventually(async () => {
          const probe = await http(target, "/", { headers: KUBELET });
          return probe.status === 503 && probe.body === "shutting down\n";
        }, PATIENT);
        assert.equal((await http(target, "/echo")).status, 200, "a late arrival");
        assert.equal((await running).status, 200);
        assert.equal(await sidecar.exited(), 0);
        assert.ok(performance.now() - signalAt < PACE.graceMs + 1_000);
      } finally {
        await sidecar.stop();
      }
    },
  },
  {
    row: "SIGTERM to the queue-proxy: a running gRPC stream ends well, the client is told by GOAWAY",
    client: "grpc-js",
    only: "queue-proxy",
    startsProcess: true,
    run: async ({ stage }) => {
      const sidecar = await stage.startSidecar("grpc", { REVISION_TIMEOUT_SECONDS: "12" });
      const caller = new GrpcCaller({ host: sidecar.ip, port: 8_013, authority: "grpc" });
      try {
        const hits = stage.grpc.hits.get("/pb.Echo/Bidi") ?? 0;
        const running = inBackground(caller.bidi("Bidi", ["1", "2", "3"], 300));
        await eventually(() => (stage.grpc.hits.get("/pb.Echo/Bidi") ?? 0) > hits, PATIENT);
        sidecar.child.kill("SIGTERM");
        assert.deepEqual(await running, ["1", "2", "3"]);
        assert.equal(await sidecar.exited(), 0);
      } finally {
        caller.close();
        await sidecar.stop();
      }
    },
  },
  {
    row: "SIGTERM to an activator: what runs is served, sockets get 1001, h2 clients GOAWAY, exit 0",
    client: "ws",
    only: "activator+queue-proxy",
    startsProcess: true,
    run: async ({ stage }) => {
      const activator = await stage.startActivator();
      const { child } = activator;
      const at = (service: ServiceName): Target => activator.at(service);
      try {
        const client = new WsClient(at("web"));
        await client.open();
        const caller = new GrpcCaller(at("grpc"));
        const hits = stage.grpc.hits.get("/pb.Echo/Bidi") ?? 0;
        const streaming = inBackground(caller.bidi("Bidi", ["1", "2", "3"], 300));
        const running = inBackground(http(at("web"), "/sleep?ms=1500"));
        await eventually(() => (stage.grpc.hits.get("/pb.Echo/Bidi") ?? 0) > hits, PATIENT);
        const exited = once(child, "exit");
        child.kill("SIGTERM");
        assert.equal((await client.ended()).code, 1_001);
        assert.deepEqual(await streaming, ["1", "2", "3"]);
        assert.equal((await running).body, "slept");
        caller.close();
        assert.deepEqual(await exited, [0, null]);
        await assert.rejects(h2(at("grpc"), "/echo"));
      } finally {
        child.kill("SIGKILL");
      }
    },
  },
];
