/** TLS inside the cluster: port 8112 of the activator, and its connections to pods. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RETURN_HEADER } from "../../../common/contracts/headers.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { InternalTls } from "../../../activator/internal-tls.ts";
import { ActivatorBench, call, HOST } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/queue-proxy-process.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const fixture = (name: string): string => join(import.meta.dirname, "../../fixtures/tls", name);
const read = (name: string): Buffer => readFileSync(fixture(name));

let valkey: ValkeyServer;
let bench: ActivatorBench;
let folder: string;
let undo: (() => unknown)[] = [];

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure({ queueTimeoutMs: 1_500, activationTimeoutMs: 1_500 });
  folder = mkdtempSync(join(tmpdir(), "pilotlight-tls-"));
  mkdirSync(join(folder, "bundles"));
  install("one");
  copyFileSync(fixture("one.crt"), join(folder, "ca.crt"));
});
afterEach(async () => {
  for (const step of undo.toReversed()) await step();
  undo = [];
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

function install(name: string): void {
  copyFileSync(fixture(`${name}.crt`), join(folder, "tls.crt"));
  copyFileSync(fixture(`${name}.key`), join(folder, "tls.key"));
}

async function startActivator(): Promise<{ dataUrl: string; push: string; tlsPort: number }> {
  const tlsPort = await freePort();
  const listening = await bench.activator({
    PILOTLIGHT_SYSTEM_INTERNAL_TLS: "Enabled",
    PILOTLIGHT_TLS_FOLDER: folder,
    PILOTLIGHT_TRUST_BUNDLES: join(folder, "bundles"),
    PILOTLIGHT_TLS_LISTEN: `127.0.0.1:${tlsPort}`,
    // A handshake on a busy machine.
    PILOTLIGHT_CONNECT_TIMEOUT_MS: "5000",
  });
  return { ...listening, tlsPort };
}

/** The sidecar's TLS port in front of a stub pod, which itself speaks in clear text. */
async function encrypt(pod: StubPod, name: string): Promise<{ readonly connections: number }> {
  const seen = { connections: 0 };
  const server = tls.createServer(
    { cert: read(`${name}.crt`), key: read(`${name}.key`), minVersion: "TLSv1.3" },
    (socket) => {
      const inner = connectTcp(pod.port, pod.address);
      socket.pipe(inner).pipe(socket);
      for (const side of [socket, inner]) side.on("error", () => undefined);
    },
  );
  server.on("connection", () => (seen.connections += 1));
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(8_112, pod.address, resolve));
  undo.push(() => server.close());
  return seen;
}

function callSecure(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port,
      path,
      agent: false,
      ca: read("one.crt"),
      servername: "data-plane.knative.dev",
      headers: { host: HOST },
    };
    const outgoing = https.get(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    outgoing.once("error", reject);
  });
}

describe("TLS inside the cluster", () => {
  it("serves the data port, and reaches pods encrypted", async () => {
    const activator = await startActivator();
    const pod = await bench.pod();
    const seen = await encrypt(pod, "one");
    await pod.register(activator.push);
    expect(await callSecure(activator.tlsPort, "/")).toBe(200);
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
    expect(pod.hits).toBe(2);
    // The second request found the connection of the first.
    expect(seen.connections).toBe(1);
  });

  it("asks a pod encrypted for a call that may still wait there", async () => {
    await bench.configure({ binding: "early", localQueue: 1 });
    const activator = await startActivator();
    const busy = await bench.pod();
    const asked: unknown[] = [];
    busy.onRequest = (headers) => asked.push(headers[RETURN_HEADER]);
    const seen = await encrypt(busy, "one");
    await busy.register(activator.push);
    const calls = [call(activator.dataUrl, "/?ms=1500"), call(activator.dataUrl, "/?ms=1500")];
    await eventually(async () => busy.running === 2 && (await bench.busy()) === 2);
    // An idle pod is there, and one of the two is asked for.
    const idle = await bench.pod();
    await idle.register(activator.push);
    await eventually(() => asked.length === 3);
    expect(asked.slice(0, 2)).toEqual([undefined, undefined]);
    expect(asked[2]).toEqual(expect.stringMatching(/^.+$/));
    expect(seen.connections).toBe(3);
    await Promise.all(calls);
  });

  it("speaks HTTP/2 with clients that negotiated it, and with those that just begin", async () => {
    const activator = await startActivator();
    for (const ALPNProtocols of [["h2"], undefined]) {
      const socket = tls.connect({
        host: "127.0.0.1",
        port: activator.tlsPort,
        ca: read("one.crt"),
        servername: "data-plane.knative.dev",
        ...(ALPNProtocols === undefined ? {} : { ALPNProtocols }),
      });
      await new Promise((resolve, reject) => {
        socket.once("secureConnect", resolve);
        socket.once("error", reject);
      });
      const session = http2.connect("https://data-plane.knative.dev", {
        createConnection: () => socket,
      });
      undo.push(() => session.destroy());
      const status = await new Promise((resolve, reject) => {
        const stream = session.request({ ":path": "/", ":authority": "unknown.example" });
        stream.once("response", (headers) => resolve(headers[":status"]));
        stream.once("error", reject);
        stream.resume();
      });
      expect(status).toBe(404);
    }
  });

  it("gives nothing to a pod whose certificate is of another namespace", async () => {
    copyFileSync(fixture("other.crt"), join(folder, "bundles/other.crt"));
    const activator = await startActivator();
    const pod = await bench.pod();
    const seen = await encrypt(pod, "other");
    await pod.register(activator.push);
    const reply = await call(activator.dataUrl, "/");
    expect(reply.status).toBe(504);
    expect(seen.connections).toBeGreaterThan(0);
    expect(pod.arrivals).toBe(0);
  });

  it("does not start without a certificate", () => {
    rmSync(join(folder, "tls.key"));
    const make = (): InternalTls =>
      new InternalTls({
        folder,
        bundleFolder: "",
        listen: { host: "127.0.0.1", port: 0 },
        settings: { minVersion: "", maxVersion: "", cipherSuites: "", curves: "" },
        logger: createLogger({ name: "test", level: "silent" }),
      });
    expect(make).toThrow(/routing-serving-certs/);
  });

  it("takes a renewed certificate, and roots, without a restart", async () => {
    const internal = new InternalTls({
      folder,
      bundleFolder: join(folder, "bundles"),
      listen: { host: "127.0.0.1", port: 0 },
      settings: { minVersion: "", maxVersion: "", cipherSuites: "", curves: "" },
      logger: createLogger({ name: "test", level: "silent" }),
      lookEveryMs: 10,
    });
    const accepted: unknown[] = [];
    const port = await internal.open({
      accept: (socket: unknown) => accepted.push(socket),
    } as unknown as Parameters<InternalTls["open"]>[0]);
    undo.push(() => internal.close());
    const nameAt = async (): Promise<string> => {
      const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
      await new Promise((resolve) => socket.once("secureConnect", resolve));
      const { CN } = socket.getPeerCertificate().subject;
      socket.destroy();
      return String(CN);
    };
    expect(await nameAt()).toBe("kn-user-default-one");
    install("two");
    await eventually(async () => (await nameAt()) === "kn-user-default-two");
  });
});
