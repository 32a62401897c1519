/** Port 8112: protocols with and without ALPN, versions, and a certificate that is replaced. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { createFront } from "../../../proxy/front.ts";
import { createUpstream } from "../../../proxy/upstream.ts";
import { readQueueProxyConfig } from "../../../queue-proxy/config.ts";
import { openTlsPort } from "../../../queue-proxy/tls.ts";
import { createLogger } from "../../../foundation/logger.ts";
import type { ModelServer } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import { eventually } from "../../support/eventually.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { freePort, startSidecar } from "../../support/queue-proxy-process.ts";

const FOLDER = "var/lib/knative/certs";
const fixture = (name: string): string => join(import.meta.dirname, "../../fixtures/tls", name);
const ONE = {
  [`${FOLDER}/tls.crt`]: readFileSync(fixture("one.crt")),
  [`${FOLDER}/tls.key`]: readFileSync(fixture("one.key")),
};
let undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.toReversed()) await step();
  undo = [];
});

async function start(env: Record<string, string> = {}): Promise<[SidecarProcess, ModelServer]> {
  const model = await startModelServer();
  undo.push(() => model.stop());
  const sidecar = await startSidecar({ userPort: model.port, files: ONE, env });
  undo.push(() => sidecar.stop());
  return [sidecar, model];
}

function connect(host: string, options: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host, port: 8_112, rejectUnauthorized: false, ...options });
    socket.once("secureConnect", () => resolve(socket));
    socket.once("error", reject);
    undo.push(() => socket.destroy());
  });
}

/** One echo over HTTP/2 on a connection that stands. */
function echoByHttp2(socket: tls.TLSSocket): Promise<number> {
  const session = http2.connect("https://data-plane.knative.dev", {
    createConnection: () => socket,
  });
  undo.push(() => session.destroy());
  return new Promise((resolve, reject) => {
    session.once("error", reject);
    const stream = session.request({ ":path": "/echo", te: "trailers" });
    stream.once("response", (headers) => resolve(Number(headers[":status"])));
    stream.once("error", reject);
    stream.resume();
  });
}

describe("the port with TLS", () => {
  it("serves HTTP/1.1, and cleartext stays", async () => {
    const [{ ip, request }] = await start();
    const status = await new Promise<number>((resolve, reject) => {
      const options = {
        host: ip,
        port: 8_112,
        path: "/echo",
        rejectUnauthorized: false,
        agent: false,
      };
      https.get(options, (answer) => resolve(answer.statusCode ?? 0)).once("error", reject);
    });
    expect(status).toBe(200);
    expect((await request("/echo", { via: "foreign" })).status).toBe(200);
  });

  it("offers h2 and http/1.1, and serves h2", async () => {
    const [{ ip }] = await start();
    const socket = await connect(ip, { ALPNProtocols: ["h2", "http/1.1"] });
    expect(socket.alpnProtocol).toBe("h2");
    expect(await echoByHttp2(socket)).toBe(200);
    const old = await connect(ip, { ALPNProtocols: ["http/1.1"] });
    expect(old.alpnProtocol).toBe("http/1.1");
  });

  it("knows HTTP/2 by its preface when nothing was negotiated, as stock's activator speaks it", async () => {
    const [{ ip }] = await start();
    const socket = await connect(ip);
    expect(socket.alpnProtocol).toBe(false);
    expect(await echoByHttp2(socket)).toBe(200);
  });

  it("wants TLS 1.3, unless the controller allows less", async () => {
    const [strict] = await start();
    await expect(connect(strict.ip, { maxVersion: "TLSv1.2" })).rejects.toThrow();
    const [lenient] = await start({
      QUEUE_PROXY_TLS_MIN_VERSION: "1.2",
      QUEUE_PROXY_TLS_CIPHER_SUITES:
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256",
      QUEUE_PROXY_TLS_CURVE_PREFERENCES: "X25519,CurveP256",
    });
    const socket = await connect(lenient.ip, { maxVersion: "TLSv1.2" });
    expect(socket.getProtocol()).toBe("TLSv1.2");
    expect(socket.getCipher().name).toBe("ECDHE-ECDSA-AES128-GCM-SHA256");
  });

  it("tells the request log that a request had TLS", async () => {
    const [{ ip, request, output }] = await start({
      OBSERVABILITY_CONFIG: JSON.stringify({
        enableRequestLog: true,
        requestLogTemplate: "TLS: {{.Request.TLS}}",
      }),
    });
    await request("/echo", { via: "foreign" });
    await eventually(() => output() === "TLS: <nil>\n");
    const socket = await connect(ip);
    socket.write("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    await eventually(() => output().includes("TLS: {"));
  });

  it("is not there without a certificate", async () => {
    const model = await startModelServer();
    undo.push(() => model.stop());
    const sidecar = await startSidecar({ userPort: model.port });
    undo.push(() => sidecar.stop());
    await expect(connect(sidecar.ip)).rejects.toThrow("ECONNREFUSED");
  });
});

it("takes a new certificate from disk, with the words that stock's test looks for", async () => {
  const podRoot = mkdtempSync(join(tmpdir(), "pilotlight-tls-"));
  undo.push(() => rmSync(podRoot, { recursive: true }));
  mkdirSync(join(podRoot, FOLDER), { recursive: true });
  const replace = (name: string): void => {
    copyFileSync(fixture(`${name}.crt`), join(podRoot, FOLDER, "tls.crt"));
    copyFileSync(fixture(`${name}.key`), join(podRoot, FOLDER, "tls.key"));
  };
  replace("one");
  const port = await freePort();
  const lines: string[] = [];
  const front = createFront(
    {
      maxHeadBytes: 65_536,
      headTimeoutMs: 5_000,
      keepAliveMs: 5_000,
      maxConnections: 0,
      replayBytes: 0,
    },
    {
      onExchange: (exchange) => exchange.answer({ status: 200, headers: [], body: "" }),
      onRefused: () => ({ status: 400, headers: [], body: "" }),
    },
    createUpstream({ idleMs: 1_000, maxIdlePerHost: 1 }),
  );
  undo.push(() => front.close());
  const config = readQueueProxyConfig({
    SERVING_NAMESPACE: "default",
    SERVING_CONFIGURATION: "echo",
    SERVING_REVISION: "echo-00001",
    SERVING_POD: "p",
    SERVING_POD_IP: "127.0.0.1",
    QUEUE_SERVING_PORT: "8012",
    QUEUE_SERVING_TLS_PORT: String(port),
    CONTAINER_CONCURRENCY: "1",
    REVISION_TIMEOUT_SECONDS: "60",
    USER_PORT: "8080",
    PILOTLIGHT_POD_ROOT: podRoot,
  });
  const logger = createLogger({ name: "test", write: (line) => lines.push(line) });
  const open = await openTlsPort({ config, front, logger, host: "127.0.0.1", reloadEveryMs: 20 });
  undo.push(() => open?.close());
  const nameNow = async (): Promise<string> => {
    const socket = await connect("127.0.0.1", { port });
    return String(socket.getPeerCertificate().subject.CN);
  };
  expect(await nameNow()).toBe("kn-user-default-one");
  // A key without its certificate changes nothing.
  writeFileSync(join(podRoot, FOLDER, "tls.crt"), "half a file");
  await eventually(() => lines.some((line) => line.includes("certificate not reloaded")));
  expect(await nameNow()).toBe("kn-user-default-one");
  replace("two");
  await eventually(async () => (await nameNow()) === "kn-user-default-two");
  expect(lines.join("")).toContain(
    "Certificate and/or key have changed on disk and were reloaded.",
  );
});
