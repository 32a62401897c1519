/**
 * The small servers beside the data path: drain hook and the container's own state on 8022, stock
 * statistics on 9090, metrics on 9091. Node's plain server, since each has one route or two.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { errorText } from "../common/errors.ts";
import { http } from "../proxy/http-lazy.ts";
import type { EngineReport } from "./core/engine-room.ts";
import type { ContainerState } from "./core/readiness.ts";
import { CONTAINER_STATES } from "./core/readiness.ts";

/** More than any container works on; beyond it a report is a mistake. */
const MOST_RUNNING = 1_000_000;
const MOST_TOKENS = 1_000_000_000;

export interface ContainerReport extends EngineReport {
  readonly state?: ContainerState;
}

export interface AdminParts {
  readonly waitForDrain: () => Promise<void>;
  readonly onContainerReport: (report: ContainerReport) => void;
}

/** A report is some forty bytes. */
const MAX_REPORT_BYTES = 4_096;

export function createAdminServer(parts: AdminParts): Server {
  return http().createServer((request, response) => {
    const path = pathOf(request);
    if (path === "/wait-for-drain") {
      request.resume();
      void parts.waitForDrain().then(() => send(response, 200, ""));
    } else if (path === "/state") {
      void takeReport(request, response, parts);
    } else {
      send(response, 404, "not found\n");
    }
  });
}

/** One page under `/metrics`, made anew at each request. */
export function createPageServer(contentType: string, render: () => string | Buffer): Server {
  return http().createServer((request, response) => {
    request.resume();
    if (pathOf(request) !== "/metrics") return send(response, 404, "not found\n");
    response.setHeader("Content-Type", contentType);
    response.end(render());
  });
}

async function takeReport(
  request: IncomingMessage,
  response: ServerResponse,
  parts: AdminParts,
): Promise<void> {
  if (!isLoopback(request.socket.remoteAddress ?? "")) {
    return send(response, 403, "the container's state is taken from a loopback address only\n");
  }
  if (request.method !== "PUT") return send(response, 405, "use PUT\n");
  try {
    parts.onContainerReport(parseReport(await readBody(request)));
    send(response, 204, "");
  } catch (error) {
    send(response, 400, `${errorText(error)}\n`);
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  request.setEncoding("utf8");
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > MAX_REPORT_BYTES) throw new Error("the report is too long");
  }
  return body;
}

export function parseReport(body: string): ContainerReport {
  const value: unknown = JSON.parse(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("expected a JSON object");
  }
  const fields: { [name in keyof ContainerReport]?: unknown } = value;
  return {
    ...parseState(fields.state),
    ...parseCount("running", fields.running, MOST_RUNNING),
    ...parseCount("waiting", fields.waiting, MOST_RUNNING),
    ...parseCount("kvFreeTokens", fields.kvFreeTokens, MOST_TOKENS),
  };
}

function parseState(value: unknown): { state?: ContainerState } {
  if (value === undefined) return {};
  const state = CONTAINER_STATES.find((candidate) => candidate === value);
  if (state === undefined) {
    throw new Error(`state: got ${JSON.stringify(value)}, expected ${CONTAINER_STATES.join(", ")}`);
  }
  return { state };
}

function parseCount(name: keyof EngineReport, value: unknown, most: number): EngineReport {
  if (value === undefined) return {};
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most) {
    const got = JSON.stringify(value);
    throw new Error(`${name}: got ${got}, expected an integer from 0 to ${most}`);
  }
  return { [name]: value };
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./.test(address) || address === "::1";
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}

function send(response: ServerResponse, status: number, body: string): void {
  response.statusCode = status;
  response.end(body);
}

export function listen(server: Server, host: string | undefined, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
