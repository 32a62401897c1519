/**
 * Starts the sidecar as the platform does: a process of its own with the stock environment, a pod
 * root of its own, and an address of its own in 127.0.0.0/8, since its ports are fixed.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SidecarOptions {
  readonly userPort: number;
  /** `host:port` of each push receiver. */
  readonly activators?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files of the pod before it starts, by path under its root. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
}

export interface SidecarProcess {
  readonly uid: string;
  readonly ip: string;
  readonly podRoot: string;
  readonly pid: number;
  readonly child: ChildProcess;
  readonly log: () => string;
  /** What it wrote to standard output: the request log. */
  readonly output: () => string;
  setActivators(endpoints: readonly string[]): void;
  /** A request to the data port, leased to this pod unless the headers say otherwise. */
  readonly request: (path: string, options?: CallOptions) => Promise<Answer>;
  /** The exit code, or the signal that ended it. */
  exited(): Promise<number | NodeJS.Signals | null>;
  /** Starts it again in the same pod, after it exited. */
  restart(): Promise<SidecarProcess>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string;
  readonly port?: number;
  readonly via?: "leased" | "foreign";
  readonly signal?: AbortSignal;
  readonly agent?: http.Agent;
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
}

const MAIN = new URL("../../queue-proxy/main.ts", import.meta.url).pathname;
let made = 0;

export async function startSidecar(options: SidecarOptions): Promise<SidecarProcess> {
  made += 1;
  const uid = `uid-${process.pid}-${made}`;
  const podRoot = mkdtempSync(join(tmpdir(), "pilotlight-pod-"));
  writeToken(podRoot, uid);
  const ip = `127.${100 + (process.pid % 100)}.${(process.pid >> 8) % 250}.${made}`;
  writeActivators(podRoot, options.activators ?? []);
  for (const [path, content] of Object.entries(options.files ?? {})) {
    mkdirSync(join(podRoot, path, ".."), { recursive: true });
    writeFileSync(join(podRoot, path), content);
  }
  return launch({ uid, podRoot, ip, options });
}

/** A port on which nobody listens now; a container may open it later. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function writeToken(podRoot: string, uid: string): void {
  const folder = join(podRoot, "var/run/secrets/tokens");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "pilotlight"), tokenOf(uid));
}

/** The form of a projected service-account token; nobody checks the signature here. */
export function tokenOf(uid: string): string {
  const payload = { "kubernetes.io": { namespace: "default", pod: { name: "pod", uid } } };
  return `e30.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.c2ln`;
}

function writeActivators(podRoot: string, endpoints: readonly string[]): void {
  writeFileSync(join(podRoot, "activators.new"), endpoints.map((line) => `${line}\n`).join(""));
  renameSync(join(podRoot, "activators.new"), join(podRoot, "activators"));
}

interface Place {
  readonly uid: string;
  readonly podRoot: string;
  readonly ip: string;
  readonly options: SidecarOptions;
}

async function launch(place: Place): Promise<SidecarProcess> {
  const { uid, podRoot, ip, options } = place;
  let log = "";
  let output = "";
  const child = spawn(process.execPath, [MAIN], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment(place), ...options.env },
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal));
  });
  await started(child, () => log);
  const sidecar: SidecarProcess = {
    uid,
    ip,
    podRoot,
    pid: child.pid ?? 0,
    child,
    log: () => log,
    output: () => output,
    setActivators: (endpoints) => writeActivators(podRoot, endpoints),
    request: (path, call = {}) => request(place, path, call),
    exited: () => exited,
    restart: () => launch(place),
    stop: async () => {
      child.kill("SIGKILL");
      await exited;
      rmSync(podRoot, { recursive: true, force: true });
    },
  };
  return sidecar;
}

function environment({ podRoot, ip, options }: Place): Record<string, string> {
  const port = options.userPort;
  return {
    SERVING_NAMESPACE: "default",
    SERVING_SERVICE: "echo",
    SERVING_CONFIGURATION: "echo",
    SERVING_REVISION: "echo-00001",
    QUEUE_SERVING_PORT: "8012",
    QUEUE_SERVING_TLS_PORT: "8112",
    CONTAINER_CONCURRENCY: "1",
    REVISION_TIMEOUT_SECONDS: "60",
    SERVING_POD: "echo-00001-deployment-abc",
    SERVING_POD_IP: ip,
    SERVING_LOGGING_CONFIG: "",
    SERVING_LOGGING_LEVEL: "",
    USER_PORT: String(port),
    SERVING_READINESS_PROBE: JSON.stringify({
      tcpSocket: { port, host: "127.0.0.1" },
      successThreshold: 1,
    }),
    PILOTLIGHT_POD_ROOT: podRoot,
  };
}

function started(child: ChildProcess, log: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (!log().includes('"started"')) return;
      child.stderr?.off("data", look);
      resolve();
    };
    child.stderr?.on("data", look);
    child.once("exit", () => reject(new Error(`The sidecar ended at its start:\n${log()}`)));
  });
}

function request(place: Place, path: string, call: CallOptions): Promise<Answer> {
  const lease = call.via === "foreign" ? {} : { "pilotlight-target-uid": place.uid };
  return new Promise((resolve, reject) => {
    const outgoing = http.request({
      host: place.ip,
      port: call.port ?? 8_012,
      path,
      method: call.method ?? (call.body === undefined ? "GET" : "POST"),
      headers: { ...lease, ...call.headers },
      agent: call.agent ?? false,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    outgoing.once("error", reject);
    outgoing.once("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        const bytes = Buffer.concat(chunks);
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, headers, bytes, body: bytes.toString("utf8") });
      });
    });
    outgoing.end(call.body);
  });
}
