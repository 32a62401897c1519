/**
 * What was seen of the stock queue-proxy and is nowhere else in these tests, row by row. Where we
 * depart on purpose it stands in docs/reference/differences.md, and the row here says what we do.
 */
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ModelServer } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import { eventually } from "../../support/eventually.ts";
import type { Answer, SidecarProcess } from "../../support/queue-proxy-process.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";

let model: ModelServer;
let sidecar: SidecarProcess;

beforeAll(async () => {
  model = await startModelServer();
  sidecar = await startSidecar({ userPort: model.port, env: { CONTAINER_CONCURRENCY: "0" } });
});
afterAll(async () => {
  await sidecar.stop();
  await model.stop();
});

type Sent = Readonly<Record<string, string>>;

/** The headers as the container got them: all values by lower-case name, in order. */
async function seenBy(headers: Sent): Promise<Readonly<Record<string, readonly string[]>>> {
  const answer = await sidecar.request("/echo", { via: "foreign", headers });
  const { headers: raw } = JSON.parse(answer.body) as { headers: string[] };
  const seen: Record<string, string[]> = {};
  for (let i = 0; i < raw.length; i += 2) {
    (seen[String(raw[i]).toLowerCase()] ??= []).push(String(raw[i + 1]));
  }
  return seen;
}

describe("headers towards the container", () => {
  const rows: readonly {
    readonly name: string;
    readonly sent: Sent;
    readonly seen: Readonly<Record<string, readonly string[] | undefined>>;
  }[] = [
    {
      name: "the revision's identity is removed",
      sent: { "Knative-Serving-Revision": "r", "Knative-Serving-Namespace": "n" },
      seen: { "knative-serving-revision": undefined, "knative-serving-namespace": undefined },
    },
    {
      name: "K-Original-Host becomes Host and goes",
      sent: { "K-Original-Host": "echo.example" },
      seen: { host: ["echo.example"], "k-original-host": undefined },
    },
    {
      name: "K-Original-Host stays on a kubelet probe, and Host too",
      sent: { Host: "probe.example", "K-Original-Host": "echo.example", "K-Kubelet-Probe": "1" },
      seen: {
        host: ["probe.example"],
        "k-original-host": ["echo.example"],
        "k-kubelet-probe": ["1"],
      },
    },
    {
      name: "Knative's other words pass unchanged",
      sent: {
        "K-Network-Probe": "queue",
        "K-Network-Hash": "h",
        "K-Passthrough-Lb": "true",
        "K-Proxy-Request": "activator",
        "Knative-Serving-Tag": "blue",
        "Knative-Serving-Default-Route": "true",
      },
      seen: {
        "k-network-probe": ["queue"],
        "k-network-hash": ["h"],
        "k-passthrough-lb": ["true"],
        "k-proxy-request": ["activator"],
        "knative-serving-tag": ["blue"],
        "knative-serving-default-route": ["true"],
      },
    },
    {
      name: "the peer is appended to X-Forwarded-For, the others are never made up",
      sent: { "X-Forwarded-For": "1.2.3.4" },
      seen: {
        "x-forwarded-for": [expect.stringMatching(/^1\.2\.3\.4, 127\.\d+\.\d+\.\d+$/) as string],
        "x-forwarded-proto": undefined,
        "x-forwarded-host": undefined,
        forwarded: ["for=1.2.3.4"],
      },
    },
    {
      name: "Forwarded is made of its older relatives, before our own hop",
      sent: {
        "X-Forwarded-For": "1.2.3.4, 2001:db8::1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "h.example",
      },
      seen: {
        forwarded: ['for=1.2.3.4;host=h.example;proto=https, for="[2001:db8::1]"'],
        "x-forwarded-proto": ["https"],
        "x-forwarded-host": ["h.example"],
      },
    },
    {
      name: "a Forwarded that is there is left alone",
      sent: { Forwarded: "for=9.9.9.9", "X-Forwarded-For": "1.2.3.4" },
      seen: { forwarded: ["for=9.9.9.9"] },
    },
    {
      name: "without X-Forwarded headers there is no Forwarded, without User-Agent none is added",
      sent: {},
      seen: { forwarded: undefined, "user-agent": undefined },
    },
    {
      name: "what ends at this hop is removed, with all that Connection lists",
      sent: { Connection: "close, X-Mine", "X-Mine": "1", "Keep-Alive": "timeout=5", TE: "gzip" },
      seen: { "x-mine": undefined, "keep-alive": undefined, te: undefined },
    },
    {
      name: "Accept-Encoding and trace context pass unchanged",
      sent: {
        "Accept-Encoding": "gzip",
        Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      },
      seen: {
        "accept-encoding": ["gzip"],
        traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
      },
    },
  ];
  it.each(rows)("$name", async ({ sent, seen }) => {
    const headers = await seenBy(sent);
    for (const [name, values] of Object.entries(seen)) expect(headers[name], name).toEqual(values);
  });
});

describe("answers", () => {
  it("a ready probe is five bytes, without a line end", async () => {
    const headers = { "user-agent": "kube-probe/1.34", "k-network-probe": "queue" };
    const answer = await sidecar.request("/", { via: "foreign", headers });
    expect(answer.bytes).toEqual(Buffer.from("queue"));
  });

  it("are not compressed, and have one Date", async () => {
    const answer = await sidecar.request("/echo", {
      via: "foreign",
      headers: { "accept-encoding": "gzip" },
    });
    expect(answer.headers["content-encoding"]).toBeUndefined();
    expect(answer.headers["date"]).toMatch(/GMT$/);
  });

  it("of 9090 are protobuf within what the autoscaler reads, other paths 404", async () => {
    const stats = await sidecar.request("/metrics", { via: "foreign", port: 9_090 });
    expect(stats.headers["content-type"]).toBe("application/protobuf");
    expect(stats.bytes.length).toBeLessThanOrEqual(336);
    // Field 1, a text: the pod's name.
    expect(stats.bytes[0]).toBe(0x0a);
    const other = await sidecar.request("/other", { via: "foreign", port: 9_090 });
    expect(other.status).toBe(404);
  });

  it("of the admin port are 404 for other paths", async () => {
    const answer = await sidecar.request("/", { via: "foreign", port: 8_022 });
    expect(answer.status).toBe(404);
  });
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A listening TCP server has an address object; a string is for pipes only.
  return (server.address() as AddressInfo).port;
}

describe("protocols that do not meet", () => {
  const NOT_HTTP2 = { ":method": "GET", ":path": "/echo", ":authority": "a" } as const;

  it("HTTP/2 to a container that speaks HTTP/1.1: 502", async () => {
    const container = http.createServer((_request, response) => response.end("never"));
    const port = await listening(container);
    const other = await startSidecar({ userPort: port });
    const session = http2.connect(`http://${other.ip}:8012`);
    try {
      const status = await new Promise<unknown>((resolve, reject) => {
        session.once("error", reject);
        const stream = session.request(NOT_HTTP2);
        stream.once("response", (headers) => resolve(headers[":status"]));
        stream.once("error", reject);
        stream.resume();
      });
      expect(status).toBe(502);
    } finally {
      session.destroy();
      await other.stop();
      container.close();
    }
  });

  it("HTTP/1.1 to a container that speaks HTTP/2: 502, as plain text that nobody sniffs", async () => {
    const container = http2.createServer((_request, response) => response.end("never"));
    const port = await listening(container);
    const other = await startSidecar({ userPort: port });
    try {
      const answer: Answer = await other.request("/echo", { via: "foreign" });
      expect(answer.status).toBe(502);
      expect(answer.headers["content-type"]).toMatch(/^text\/plain/);
      expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    } finally {
      await other.stop();
      container.close();
    }
  });
});

describe("the log", () => {
  let lines: readonly Record<string, unknown>[];

  beforeEach(async () => {
    await eventually(() => sidecar.log().includes("started"));
    lines = sidecar
      .log()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  });

  it("is JSON on standard error that names revision and pod", () => {
    for (const line of lines) {
      expect(line).toMatchObject({
        "knative.dev/key": expect.stringMatching(/^[^/]+\/[^/]+$/) as string,
        "knative.dev/pod": expect.any(String) as string,
      });
    }
    expect(lines.length).toBeGreaterThan(0);
    expect(sidecar.output()).toBe("");
  });
});
