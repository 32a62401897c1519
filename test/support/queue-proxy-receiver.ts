/**
 * The push side of an activator for the sidecar's tests: a real server that records what arrives
 * and answers what the test wants.
 */
import http from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { PushReply, PushReport } from "../../common/contracts/push.ts";
import { PUSH_PATH } from "../../common/contracts/push.ts";
import { eventually } from "./eventually.ts";

export interface ReceivedPush extends PushReport {
  readonly at: number;
  readonly from: string;
  readonly authorization: string;
  /** Number of the connection it came on, from 1. */
  readonly connection: number;
}

export interface PushReceiver {
  readonly endpoint: string;
  readonly pushes: ReceivedPush[];
  readonly last: ReceivedPush | undefined;
  /** Waits for the first push like this, of those after the first `skip`. */
  seen(like: (push: ReceivedPush) => boolean, options?: SeenOptions): Promise<ReceivedPush>;
  /** Added to each reply; `status` other than 200 refuses. */
  answer: { reply?: Partial<PushReply>; status?: number };
  /** The next reply alone. */
  once(reply: Partial<PushReply>): void;
  /** Stops answering without closing, as a stopped process does. */
  hang(): void;
  stop(): Promise<void>;
}

export interface SeenOptions {
  readonly timeoutMs?: number;
  readonly skip?: number;
}

export async function startPushReceiver(): Promise<PushReceiver> {
  const pushes: ReceivedPush[] = [];
  const connections = new Map<Socket, number>();
  let opened = 0;
  let next: Partial<PushReply> | undefined;
  let isHanging = false;
  const server = http.createServer((request, response) => {
    void readJson(request).then((report) => {
      if (isHanging) return;
      if (request.url !== PUSH_PATH) return response.writeHead(404).end();
      pushes.push({
        ...report,
        at: performance.now(),
        from: request.socket.remoteAddress ?? "",
        authorization: request.headers.authorization ?? "",
        connection: connections.get(request.socket) ?? 0,
      });
      const { status = 200, reply } = receiver.answer;
      const body: PushReply = {
        ackBoot: report.boot,
        ackSequence: report.sequence,
        heartbeatMs: 1_000,
        localQueue: 0,
        drainAcknowledged: false,
        ask: [],
        ...reply,
        ...next,
      };
      next = undefined;
      response.writeHead(status, { "content-type": "application/json" });
      return response.end(JSON.stringify(body));
    });
  });
  server.keepAliveTimeout = 30_000;
  server.on("connection", (socket) => {
    opened += 1;
    connections.set(socket, opened);
    socket.once("close", () => connections.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: PushReceiver = {
    endpoint: `127.0.0.1:${port}`,
    pushes,
    get last() {
      return pushes.at(-1);
    },
    answer: {},
    seen: async (like, { skip = 0, ...options } = {}) => {
      const find = () => pushes.slice(skip).find(like);
      await eventually(() => find() !== undefined, { ...options, what: like.toString() });
      // Just seen; pushes are never taken away.
      return find() as ReceivedPush;
    },
    once: (reply) => {
      next = reply;
    },
    hang: () => {
      isHanging = true;
    },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of connections.keys()) socket.destroy();
      await closed;
    },
  };
  return receiver;
}

async function readJson(request: http.IncomingMessage): Promise<PushReport> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return JSON.parse(body) as PushReport;
}
