/** h2c by prior knowledge and gRPC: calls, streams, trailers, deadlines, restarts, abuse. */
import assert from "node:assert/strict";
import { constants } from "node:http2";
import { connect } from "node:net";
import { status } from "@grpc/grpc-js";
import { eventually } from "../../support/eventually.ts";
import { curl, GrpcCaller, h2, h2Session, inBackground, PATIENT } from "../clients.ts";
import type { Place, ProtocolRow } from "../row.ts";
import { ACTIVATION_LIMIT_MS, LATENESS_MS } from "../stage.ts";

const SILENT = "/pb.Echo/Silent";

type GrpcRun = (caller: GrpcCaller, place: Place) => Promise<void>;

function grpc(row: string, run: GrpcRun, rest: Partial<ProtocolRow> = {}): ProtocolRow {
  return {
    row,
    client: "grpc-js",
    ...rest,
    run: async (place) => {
      const caller = new GrpcCaller(place.at("grpc"));
      try {
        await run(caller, place);
      } finally {
        caller.close();
      }
    },
  };
}

export const HTTP2_ROWS: readonly ProtocolRow[] = [
  {
    row: "h2c by prior knowledge",
    client: "curl",
    run: async (place) => {
      const { stdout } = await curl(place.at("grpc"), "/echo", [
        "--http2-prior-knowledge",
        "-w",
        " %{http_version}",
        "-d",
        "x=1",
      ]);
      assert.match(stdout, /"length":3\} 2$/);
    },
  },
  {
    row: "h2c: request, answer and trailers",
    client: "node:http2",
    run: async (place) => {
      const answer = await h2(place.at("grpc"), "/echo", { body: "hello" });
      assert.equal(answer.status, 200);
      assert.match(answer.body, /"length":5/);
      assert.equal(answer.trailers["x-sum"], "5");
    },
  },
  {
    row: "h2c: 103 early hints",
    client: "node:http2",
    run: async (place) => {
      const { information, status: final } = await h2(place.at("grpc"), "/hints");
      assert.equal(final, 200);
      assert.deepEqual(
        information.map((info) => [info[":status"], info["link"]]),
        [[103, "</style.css>; rel=preload"]],
      );
    },
  },
  {
    row: "h2c: HEAD",
    client: "node:http2",
    run: async (place) => {
      const answer = await h2(place.at("grpc"), "/echo", { headers: { ":method": "HEAD" } });
      assert.deepEqual([answer.status, answer.body], [200, ""]);
    },
  },
  {
    row: "h2c: 200 requests at once on one connection",
    client: "node:http2",
    run: async (place) => {
      const target = place.at("grpc");
      const session = h2Session(target);
      const calls = Array.from({ length: 200 }, (_, i) =>
        h2(target, `/echo?${i}`, { session, body: "b" }),
      );
      const answers = await Promise.all(calls);
      assert.equal(answers.filter((answer) => answer.status === 200).length, 200);
      session.destroy();
    },
  },
  grpc("gRPC unary", async (caller) => {
    assert.equal(await caller.unary("Say", "hello"), "hello");
  }),
  grpc("gRPC server streaming", async (caller) => {
    const { messages, status: end } = await caller.serverStream("Stream", "m");
    assert.deepEqual(messages, ["m", "m", "m"]);
    assert.equal(end.code, status.OK);
  }),
  grpc("gRPC client streaming", async (caller) => {
    assert.equal(await caller.clientStream("Join", ["a", "b", "c"]), "abc");
  }),
  grpc("gRPC bidirectional streaming, message by message", async (caller) => {
    assert.deepEqual(await caller.bidi("Bidi", ["1", "2", "3"]), ["1", "2", "3"]);
  }),
  grpc("gRPC error as trailers-only keeps status and message (F19)", async (caller) => {
    const error = await caller.failure("Fail");
    assert.deepEqual([error.code, error.details], [status.INVALID_ARGUMENT, "asked to fail"]);
  }),
  grpc("gRPC stream that fails after three messages (F19)", async (caller) => {
    const { messages, status: end } = await caller.serverStream("BreakAfterThree", "m");
    assert.equal(messages.length, 3);
    assert.deepEqual([end.code, end.details], [status.INTERNAL, "the end"]);
  }),
  grpc(
    "gRPC deadline: grpc-timeout ends the call and frees the container",
    async (caller, place) => {
      const { grpc: container } = place.stage;
      const before = container.runningOf(SILENT);
      const startedAt = performance.now();
      const error = await caller.failure("Silent", { deadline: Date.now() + 800 });
      assert.equal(error.code, status.DEADLINE_EXCEEDED);
      assert.ok(performance.now() - startedAt < 400 + LATENESS_MS);
      await eventually(() => container.runningOf(SILENT) === before, {
        timeoutMs: 1_000,
        what: "the container is free",
      });
    },
  ),
  {
    row: "grpc-timeout shortens the platform's limits, as status 4",
    client: "node:http2",
    run: async (place) => {
      const headers = {
        "content-type": "application/grpc",
        te: "trailers",
        "grpc-timeout": "600m",
      };
      const startedAt = performance.now();
      const answer = await h2(place.at("grpc"), "/pb.Echo/Silent", { headers, body: "" });
      assert.deepEqual([answer.status, answer.headers["grpc-status"]], [200, "4"]);
      assert.ok(performance.now() - startedAt < 400 + LATENESS_MS);
    },
  },
  {
    row: "the platform's own failure is a gRPC status: deadline while no pod comes",
    client: "node:http2",
    only: "activator+queue-proxy",
    run: async (place) => {
      const headers = { "content-type": "application/grpc", te: "trailers" };
      const startedAt = performance.now();
      const answer = await h2(place.at("zero"), "/pb.Echo/Say", { headers, body: "" });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["content-type"], "application/grpc");
      assert.equal(answer.headers["grpc-status"], "4");
      assert.ok(performance.now() - startedAt > ACTIVATION_LIMIT_MS * 0.9);
      const early = await h2(place.at("zero"), "/pb.Echo/Say", {
        headers: { ...headers, "grpc-timeout": "200m" },
        body: "",
      });
      assert.equal(early.headers["grpc-status"], "4");
    },
  },
  {
    row: "the platform's own failure is a gRPC status: no such service",
    client: "node:http2",
    only: "activator+queue-proxy",
    run: async (place) => {
      const target = { ...place.at("grpc"), authority: "nobody.example" };
      const answer = await h2(target, "/pb.Echo/Say", {
        headers: { "content-type": "application/grpc" },
        body: "",
      });
      assert.deepEqual([answer.status, answer.headers["grpc-status"]], [200, "12"]);
    },
  },
  grpc(
    "GOAWAY of the container: the running stream ends well, 50 new calls succeed (F18)",
    async (caller, place) => {
      await caller.unary("Say", "warm");
      const running = inBackground(caller.bidi("Bidi", ["1", "2"]));
      place.stage.grpc.goAway();
      assert.deepEqual(await running, ["1", "2"]);
      for (let i = 0; i < 50; i += 1) {
        if (i % 10 === 5) place.stage.grpc.goAway();
        assert.equal(await caller.unary("Say", String(i)), String(i));
      }
    },
  ),
  {
    row: "h2c: caller who cancels: the container sees it within 1 s (F04)",
    client: "node:http2",
    run: async (place) => {
      const target = place.at("grpc");
      const { grpc: container } = place.stage;
      const session = h2Session(target);
      const before = container.runningOf(SILENT);
      const headers = {
        ":path": "/pb.Echo/Silent",
        ":method": "POST",
        ":authority": target.authority,
        te: "trailers",
      };
      const streams = Array.from({ length: 20 }, () => {
        const stream = session.request(headers, { endStream: true });
        stream.on("error", () => undefined);
        return stream;
      });
      await eventually(() => container.runningOf(SILENT) === before + 20, PATIENT);
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      await eventually(() => container.runningOf(SILENT) === before, {
        timeoutMs: 1_000,
        what: "20 aborts",
      });
      session.destroy();
    },
  },
  {
    row: "h2c: content-length that differs from the data is refused (F22)",
    client: "node:http2",
    run: async (place) => {
      const before = place.stage.grpc.hits.get("/length") ?? 0;
      const call = h2(place.at("grpc"), "/length", {
        headers: { "content-length": "10" },
        body: "short",
      });
      await assert.rejects(call);
      const served = (place.stage.grpc.hits.get("/length") ?? 0) - before;
      assert.ok(served <= 1);
    },
  },
  {
    row: "h2c: a head over the limit ends its stream, not the process",
    client: "node:http2",
    run: async (place) => {
      const pad = "x".repeat(60_000);
      const headers = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`x-pad-${i}`, pad]));
      await assert.rejects(h2(place.at("grpc"), "/echo", { headers }));
      assert.equal((await h2(place.at("grpc"), "/echo")).status, 200);
    },
  },
  {
    row: "h2c: rapid resets end the connection, not the process",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("grpc");
      const session = h2Session(target);
      const gone = new Promise((resolve) => session.once("close", resolve));
      for (let i = 0; i < 6_000 && !session.closed; i += 1) {
        const stream = session.request({ ":path": "/echo", ":authority": target.authority });
        stream.on("error", () => undefined);
        stream.close(constants.NGHTTP2_CANCEL);
        if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await gone;
      assert.equal((await h2(target, "/echo")).status, 200);
    },
  },
  {
    row: "h2c: a flood of settings ends the connection, not the process",
    client: "raw socket",
    run: async (place) => {
      const { host, port } = place.at("grpc");
      const socket = connect({ host, port });
      const gone = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => undefined);
      // A client that never reads: answers to its settings pile up in front of it.
      socket.pause();
      socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
      const flood = Buffer.concat(Array.from({ length: 1_000 }, () => settings));
      const flooding = setInterval(() => socket.write(flood), 1);
      setTimeout(() => socket.resume(), 1_000);
      await gone;
      clearInterval(flooding);
      assert.equal((await h2(place.at("grpc"), "/echo")).status, 200);
    },
  },
];
