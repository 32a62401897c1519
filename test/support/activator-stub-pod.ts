/**
 * A pod without a platform: a plain HTTP server that answers like a sidecar in front of a small
 * model server, and pushes its state over real, signed connections.
 */
import { createHash } from "node:crypto";
import { Agent, createServer, request } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { LEASE_HEADER, REASON_HEADER, TARGET_UID_HEADER } from "../../common/contracts/headers.ts";
import type {
  PushKind,
  PushReply,
  PushReport,
  ReportedState,
} from "../../common/contracts/push.ts";
import { PUSH_PATH, TOKEN_AUDIENCE } from "../../common/contracts/push.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";

export interface StubPodOptions {
  readonly uid: string;
  /** In 127.0.0.0/8, of its own. */
  readonly address: string;
  readonly revision: RevisionKey;
  readonly secret: string;
  readonly capacity?: number;
  /** In place of one signed with the secret. */
  readonly token?: () => Promise<string>;
}

/** How the pod treats requests: as it should, or as one of the failures of a fleet. */
export type Manner =
  | "serve"
  | "pod_full"
  | "draining"
  | "wrong_target"
  | "container_exited"
  | "reset"
  /** Killed, but its sockets are still there: whatever comes is taken and lost, probes too. */
  | "dying"
  | "hang";

/** As a sidecar keeps idle connections: far longer than an activator that stood still for a while. */
const KEEP_ALIVE_MS = 120_000;

const STATUS = { pod_full: 503, draining: 503, wrong_target: 421, container_exited: 502 } as const;

export class StubPod {
  readonly uid: string;
  readonly address: string;
  manner: Manner = "serve";
  /** Requests that reached the container. */
  hits = 0;
  /** Requests that arrived at the sidecar, refused ones included. */
  arrivals = 0;
  running = 0;
  mostRunning = 0;
  aborted = 0;
  probes = 0;
  /** Called when a request reaches the container. */
  onRequest: ((headers: IncomingHttpHeaders) => void) | undefined;
  /** Heads and bodies as the container saw them, newest last. */
  readonly seen: { readonly rawHeaders: readonly string[]; readonly body: string }[] = [];
  replies: PushReply[] = [];
  #options: StubPodOptions;
  #server: Server;
  #sockets = new WebSocketServer({ noServer: true });
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #tokens = new Map<string, Promise<string>>();
  #boot = Date.now();
  #sequence = 0;
  #port = 0;
  #heartbeats: NodeJS.Timeout | undefined;

  constructor(options: StubPodOptions) {
    this.#options = options;
    this.uid = options.uid;
    this.address = options.address;
    this.#server = createServer(
      { keepAliveTimeout: KEEP_ALIVE_MS },
      (incoming, answer) => void this.#serve(incoming, answer),
    );
    this.#server.on("upgrade", (incoming, socket, head) => this.#upgrade(incoming, socket, head));
    this.#server.on("checkContinue", (incoming, answer) => {
      if (this.#refuse(incoming, answer)) return;
      answer.writeContinue();
      void this.#serve(incoming, answer);
    });
  }

  get port(): number {
    return this.#port;
  }

  /** Its requests go to a server of the test's, at the same address; from its next report on. */
  serveAt(port: number): void {
    this.#port = port;
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, this.address, resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Refuses connections from now on, and cuts those that stand. */
  async unlisten(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async stop(): Promise<void> {
    clearInterval(this.#heartbeats);
    this.#agent.destroy();
    for (const client of this.#sockets.clients) client.terminate();
    if (this.#server.listening) await this.unlisten();
  }

  /** Pushes the state and keeps it alive. */
  async register(push: string, state: ReportedState = "ready"): Promise<PushReply> {
    const { body } = await this.push(push, "hello", state);
    clearInterval(this.#heartbeats);
    this.#heartbeats = setInterval(() => {
      this.push(push, "heartbeat", state).catch(() => {});
    }, 500);
    return body;
  }

  /** Stops the heartbeats and closes the push connection, as a killed pod does. */
  vanish(): void {
    clearInterval(this.#heartbeats);
    this.#agent.destroy();
  }

  async push(
    push: string,
    kind: PushKind,
    state: ReportedState,
    forged: Partial<PushReport> & { readonly secret?: string; readonly from?: string } = {},
  ): Promise<{ readonly status: number; readonly body: PushReply }> {
    const { secret = this.#options.secret, from = this.address, ...fields } = forged;
    this.#sequence += 1;
    const report: PushReport = { ...this.#report(kind, state), ...fields };
    const token = await (this.#options.token?.() ?? this.#tokenOf(secret));
    const result = await postJson(push, report, { token, localAddress: from, agent: this.#agent });
    if (result.status === 200) this.replies.push(result.body);
    return result;
  }

  /** Signed once, as a projected token is good for long. */
  #tokenOf(secret: string): Promise<string> {
    const token = this.#tokens.get(secret) ?? signToken(secret, this.uid);
    this.#tokens.set(secret, token);
    return token;
  }

  #report(kind: PushKind, state: ReportedState): PushReport {
    return {
      kind,
      revision: this.#options.revision,
      podUid: this.uid,
      podName: `pod-${this.uid}`,
      boot: this.#boot,
      sequence: this.#sequence,
      state,
      reason: "",
      address: this.address,
      port: this.#port,
      capacity: this.#options.capacity ?? 1,
      inFlight: this.running,
      occupied: 0,
      reportsRunning: false,
      asked: [],
      running: [],
      build: "stub",
      marks: { sidecarAt: this.#boot, listeningAt: this.#boot + 1, readyAt: this.#boot + 2 },
    };
  }

  /** What the sidecar answers before the container sees anything. */
  #refuse(incoming: IncomingMessage, answer: ServerResponse): boolean {
    this.arrivals += 1;
    const wanted = incoming.headers[TARGET_UID_HEADER];
    const manner = wanted === this.uid || wanted === undefined ? this.manner : "wrong_target";
    if (manner === "serve" || manner === "hang") return false;
    if (manner === "reset" || manner === "dying") incoming.socket.resetAndDestroy();
    else {
      answer.writeHead(STATUS[manner], { [REASON_HEADER]: manner });
      answer.end(`${manner}\n`);
    }
    return true;
  }

  async #serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    if (incoming.headers["k-network-probe"] === "queue" && this.manner !== "dying") {
      this.probes += 1;
      answer.end("queue");
      return;
    }
    if (incoming.headers.expect === undefined && this.#refuse(incoming, answer)) return;
    this.hits += 1;
    this.running += 1;
    this.onRequest?.(incoming.headers);
    this.mostRunning = Math.max(this.mostRunning, this.running);
    answer.once("close", () => {
      this.running -= 1;
      if (!answer.writableFinished) this.aborted += 1;
    });
    if (this.manner === "hang") return;
    await this.#contain(incoming, answer);
  }

  async #contain(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", "http://stub");
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    this.seen.push({ rawHeaders: incoming.rawHeaders, body: body.toString().slice(0, 4_096) });
    const sleepMs = Number(url.searchParams.get("ms") ?? "0");
    if (sleepMs > 0) await new Promise((resolve) => setTimeout(resolve, sleepMs));
    if (url.pathname === "/sse") return streamEvents(answer, Number(url.searchParams.get("n")));
    if (url.pathname === "/break") {
      answer.writeHead(200, { "content-length": "100" });
      answer.write("half");
      setImmediate(() => answer.destroy());
      return;
    }
    answer.setHeader("content-type", "application/json");
    const sha256 = createHash("sha256").update(body).digest("hex");
    answer.end(JSON.stringify({ pod: this.uid, length: body.length, sha256, url: incoming.url }));
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.hits += 1;
    this.running += 1;
    socket.once("close", () => (this.running -= 1));
    this.#sockets.handleUpgrade(incoming, socket, head, (client) => {
      client.on("message", (data, isBinary) => client.send(data, { binary: isBinary }));
    });
  }

  /** Leases of the requests that the container saw. */
  leases(): string[] {
    return this.seen.map(({ rawHeaders }) => {
      const index = rawHeaders.findIndex((name) => name.toLowerCase() === LEASE_HEADER);
      return rawHeaders[index + 1] ?? "";
    });
  }
}

function streamEvents(answer: ServerResponse, count: number): void {
  answer.writeHead(200, { "content-type": "text/event-stream" });
  let sent = 0;
  const timer = setInterval(() => {
    sent += 1;
    answer.write(`data: ${sent}\n\n`);
    if (sent < count) return;
    clearInterval(timer);
    answer.end();
  }, 5);
  answer.once("close", () => clearInterval(timer));
}

export function signToken(secret: string, uid: string): Promise<string> {
  return new SignJWT({
    "kubernetes.io": { namespace: "default", pod: { uid, name: `pod-${uid}` } },
  })
    .setProtectedHeader({ alg: "HS256" })
    .setAudience(TOKEN_AUDIENCE)
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode(secret));
}

interface PostOptions {
  readonly token: string;
  readonly localAddress: string;
  readonly agent: Agent;
}

function postJson(
  push: string,
  report: PushReport,
  options: PostOptions,
): Promise<{ readonly status: number; readonly body: PushReply }> {
  const [host, port] = push.split(":");
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host,
        port,
        path: PUSH_PATH,
        method: "POST",
        agent: options.agent,
        localAddress: options.localAddress,
        headers: {
          authorization: `Bearer ${options.token}`,
          "content-type": "application/json",
        },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as PushReply });
        });
      },
    );
    call.on("error", reject);
    call.end(JSON.stringify(report));
  });
}
