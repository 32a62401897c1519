/**
 * A first life of the bundled queue-proxy: greets an activator, finds its container ready, answers a
 * kubelet and a request, and ends. What V8 compiled in it is kept for all later lives.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  LEASE_HEADER,
  NETWORK_PROBE_HEADER,
  PROXY_REQUEST_ACTIVATOR,
  PROXY_REQUEST_HEADER,
  TARGET_UID_HEADER,
} from "../../common/contracts/headers.ts";
import type { PushReport } from "../../common/contracts/push.ts";
import { TOKEN_AUDIENCE } from "../../common/contracts/push.ts";
import { COMPILED } from "../../queue-proxy/compiled.ts";

const LIMIT_MS = 30_000;
/** Between the two signals to end: of two at once a process may see one. */
const SECOND_SIGNAL_MS = 50;
/** Of its own, since a sidecar has fixed ports. */
const ADDRESS = `127.${randomByte()}.${randomByte()}.${randomByte()}`;

/** Keeps the compiled code of the sidecar in `folder`, for Node with these flags. */
export async function warmSidecar(folder: string, flags: readonly string[]): Promise<void> {
  const uid = randomUUID();
  const root = mkdtempSync(join(tmpdir(), "pilotlight-warm-"));
  const ready = Promise.withResolvers<void>();
  const activator = await serve((report) => {
    if (report.state === "ready") ready.resolve();
    const { boot, sequence } = report;
    return JSON.stringify({ ackBoot: boot, ackSequence: sequence, heartbeatMs: 1_000 });
  });
  const container = await serve(() => "{}");
  const port = await freePort();
  writePodFiles(root, uid, portOf(activator));
  const keeper = join(import.meta.dirname, "keep-compiled.ts");
  const child = spawn(process.execPath, [...flags, keeper, folder], {
    stdio: ["ignore", "ignore", "inherit"],
    env: podEnvironment({ root, port, containerPort: portOf(container) }),
  });
  const ended = exitOf(child);
  const late = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  try {
    await Promise.race([ready.promise, ended.then(() => fail("it ended before it was ready"))]);
    await send(port, { "user-agent": "kube-probe/1", [NETWORK_PROBE_HEADER]: "queue" });
    await send(port, {
      [TARGET_UID_HEADER]: uid,
      [LEASE_HEADER]: randomUUID(),
      [PROXY_REQUEST_HEADER]: PROXY_REQUEST_ACTIVATOR,
      "x-request-id": randomUUID(),
      "x-forwarded-for": "10.0.0.1",
      "content-type": "application/json",
    });
    child.kill("SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, SECOND_SIGNAL_MS));
    child.kill("SIGTERM");
    await ended;
    if (!existsSync(join(folder, COMPILED))) fail("it left no compiled code");
  } finally {
    clearTimeout(late);
    child.kill("SIGKILL");
    activator.close();
    container.close();
    rmSync(root, { recursive: true, force: true });
  }
}

function fail(what: string): never {
  throw new Error(`The queue-proxy could not be run at the build: ${what}`);
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve());
  });
}

/** What Kubernetes and Knative give a sidecar. */
function podEnvironment(pod: {
  readonly root: string;
  readonly port: number;
  readonly containerPort: number;
}): Record<string, string> {
  return {
    SERVING_NAMESPACE: "default",
    SERVING_SERVICE: "warm",
    SERVING_CONFIGURATION: "warm",
    SERVING_REVISION: "warm-00001",
    SERVING_POD: "warm",
    SERVING_POD_IP: ADDRESS,
    SERVING_LOGGING_LEVEL: "error",
    SERVING_READINESS_PROBE: JSON.stringify({
      tcpSocket: { host: "127.0.0.1", port: pod.containerPort },
      successThreshold: 1,
    }),
    QUEUE_SERVING_PORT: String(pod.port),
    USER_PORT: String(pod.containerPort),
    CONTAINER_CONCURRENCY: "1",
    REVISION_TIMEOUT_SECONDS: "300",
    PILOTLIGHT_POD_ROOT: pod.root,
  };
}

/** The token names the pod; nobody here looks at its signature. */
function writePodFiles(root: string, uid: string, activatorPort: number): void {
  const claims = JSON.stringify({ "kubernetes.io": { pod: { uid } } });
  const token = ["{}", claims, ""].map((part) => Buffer.from(part).toString("base64url")).join(".");
  const file = join(root, "var/run/secrets/tokens", TOKEN_AUDIENCE);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, token);
  writeFileSync(join(root, "activators"), `127.0.0.1:${activatorPort}\n`);
}

/** A server that answers each JSON body; an empty one is given as `{}`. */
async function serve(answer: (body: Partial<PushReport>) => string): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const text = Buffer.concat(parts).toString() || "{}";
      outgoing.setHeader("content-type", "application/json");
      outgoing.end(answer(JSON.parse(text) as Partial<PushReport>));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function send(port: number, headers: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { host: ADDRESS, port, method: "POST", headers, agent: false };
    const call = request(options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`answered ${response.statusCode}`));
      response.resume().once("end", resolve);
    });
    call.once("error", reject);
    call.end("{}");
  });
}

async function freePort(): Promise<number> {
  const server = await serve(() => "");
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A listening TCP server has an address object; a string is for pipes only. */
function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function randomByte(): number {
  return 1 + Math.floor(Math.random() * 250);
}
