/** One try of each probe form against real servers. */
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo, Server } from "node:net";
import net from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { parseProbePlan } from "../../../queue-proxy/core/probe-spec.ts";
import type { TryResult } from "../../../queue-proxy/probe.ts";
import { tryProbes } from "../../../queue-proxy/probe.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import { freePort } from "../../support/queue-proxy-process.ts";

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function attempt(probe: unknown, timeoutMs = 1_000, detectHttp2 = false): Promise<TryResult> {
  return tryProbes(parseProbePlan(JSON.stringify(probe), 1), { timeoutMs, detectHttp2 });
}

const httpGet = (port: number, path = "/", extra: object = {}) => ({
  httpGet: { path, port, host: "127.0.0.1", scheme: "HTTP", ...extra },
});

async function answering(handler: http.RequestListener): Promise<number> {
  return listen(http.createServer(handler));
}

describe("HTTP", () => {
  it.each([
    [200, "passed"],
    [204, "passed"],
    [399, "passed"],
    [400, "failed"],
    [503, "failed"],
  ])("%i is %s", async (status, kind) => {
    const port = await answering((_request, response) => void response.writeHead(status).end());
    expect((await attempt(httpGet(port))).kind).toBe(kind);
  });

  it("sends the probe's headers and names itself as the kubelet does", async () => {
    let seen: http.IncomingHttpHeaders = {};
    const port = await answering((request, response) => {
      seen = request.headers;
      response.end();
    });
    await attempt(httpGet(port, "/x", { httpHeaders: [{ name: "X-Key", value: "v" }] }));
    expect(seen).toMatchObject({ "x-key": "v", "user-agent": "kube-probe//" });
  });

  it("follows redirects inside the pod to their end", async () => {
    const port = await answering((request, response) => {
      if (request.url === "/a") response.writeHead(302, { location: "/b" }).end();
      else response.writeHead(request.url === "/b" ? 503 : 200).end();
    });
    expect(await attempt(httpGet(port, "/a"))).toEqual({
      kind: "failed",
      reason: "probe answered 503",
    });
  });

  it("does not follow redirects out of the pod, nor for ever", async () => {
    const port = await answering((request, response) => {
      const location = request.url === "/out" ? "http://192.0.2.1/" : "/loop";
      response.writeHead(302, { location }).end();
    });
    expect((await attempt(httpGet(port, "/out"))).kind).toBe("passed");
    expect((await attempt(httpGet(port, "/loop"))).kind).toBe("passed");
  });

  it("tells a refusal from silence", async () => {
    expect((await attempt(httpGet(await freePort()))).kind).toBe("refused");
    const port = await answering(() => {});
    expect((await attempt(httpGet(port), 50)).kind).toBe("timeout");
  });
});

it("TCP passes when somebody listens", async () => {
  const port = await listen(net.createServer((socket) => socket.destroy()));
  expect((await attempt({ tcpSocket: { port } })).kind).toBe("passed");
  expect((await attempt({ tcpSocket: { port: await freePort() } })).kind).toBe("refused");
});

describe("gRPC health", () => {
  it("passes when it is SERVING", async () => {
    const model = await startModelServer();
    cleanups.push(() => model.stop());
    expect(await attempt({ grpc: { port: model.port, service: "x".repeat(200) } })).toEqual({
      kind: "passed",
      reason: "",
    });
  });

  it.each([
    ["NOT_SERVING", Buffer.from([0, 0, 0, 0, 2, 0x08, 0x02])],
    ["no message", Buffer.alloc(0)],
  ])("fails on %s", async (_name, body) => {
    const server = http2.createServer();
    server.on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.end(body);
    });
    const port = await listen(server);
    expect((await attempt({ grpc: { port } })).kind).toBe("failed");
  });

  it("tells a refusal", async () => {
    expect((await attempt({ grpc: { port: await freePort() } })).kind).toBe("refused");
  });
});

describe("HTTP/2 detection", () => {
  it("passes a container that speaks only HTTP/2, and one that speaks only HTTP/1.1", async () => {
    const second = http2.createServer((_request, response) => response.end());
    expect((await attempt(httpGet(await listen(second)), 1_000, true)).kind).toBe("passed");
    const first = await answering((_request, response) => void response.end());
    expect((await attempt(httpGet(first), 1_000, true)).kind).toBe("passed");
  });
});

describe("several containers", () => {
  it("pass only together, and null passes", async () => {
    const up = await answering((_request, response) => void response.end());
    const down = await freePort();
    expect((await attempt([null, httpGet(up)])).kind).toBe("passed");
    expect((await attempt([httpGet(up), httpGet(down)])).kind).toBe("refused");
    expect((await attempt(null)).kind).toBe("passed");
  });
});
