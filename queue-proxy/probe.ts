/**
 * One try of a readiness probe in its three forms: HTTP, TCP, gRPC health. The outcome says apart
 * whether nobody listened, because a refusal means more than a slow answer.
 */
import type { ClientRequest } from "node:http";
import net from "node:net";
import { errorText } from "../common/errors.ts";
import { http } from "../proxy/http-lazy.ts";
import { http2 } from "../proxy/http2-lazy.ts";
import type { ProbePlan, ProbeSpec } from "./core/probe-spec.ts";

export interface TryResult {
  readonly kind: "passed" | "failed" | "refused" | "timeout";
  /** In a few words; empty when it passed. */
  readonly reason: string;
}

export interface TryOptions {
  readonly timeoutMs: number;
  /** Try HTTP/2 with prior knowledge first. */
  readonly detectHttp2: boolean;
}

/** As Kubernetes names itself, without a version that would be made up. */
const USER_AGENT = "kube-probe//";
const MAX_REDIRECTS = 10;
/** Reasons travel in every report. */
const MAX_REASON = 200;
const PASSED: TryResult = { kind: "passed", reason: "" };
const SEVERITY: readonly TryResult["kind"][] = ["refused", "failed", "timeout", "passed"];

/** All probes of the plan at once; the result is the worst of them. */
export async function tryProbes(plan: ProbePlan, options: TryOptions): Promise<TryResult> {
  const results = await Promise.all(plan.probes.map((spec) => tryProbe(spec, options)));
  return results.reduce(
    (worst, result) =>
      SEVERITY.indexOf(result.kind) < SEVERITY.indexOf(worst.kind) ? result : worst,
    PASSED,
  );
}

async function tryProbe(spec: ProbeSpec, options: TryOptions): Promise<TryResult> {
  switch (spec.kind) {
    case "tcp":
      return tryTcp(spec.host, spec.port, options.timeoutMs);
    case "grpc":
      return tryGrpc(spec, options.timeoutMs);
    case "http": {
      if (!options.detectHttp2) return tryHttp(spec, options.timeoutMs, 0);
      const second = await tryHttp2(spec, options.timeoutMs);
      return second.kind === "passed" ? second : tryHttp(spec, options.timeoutMs, 0);
    }
  }
}

/** Whether somebody listens on a port of this pod. */
export function tryTcp(host: string, port: number, timeoutMs: number): Promise<TryResult> {
  return settle(timeoutMs, (done) => {
    const socket = net.connect({ host, port });
    socket.once("connect", () => done(PASSED));
    socket.once("error", (error) => done(failure(error)));
    return () => socket.destroy();
  });
}

type HttpSpec = Extract<ProbeSpec, { kind: "http" }>;
type GrpcSpec = Extract<ProbeSpec, { kind: "grpc" }>;

async function tryHttp(spec: HttpSpec, timeoutMs: number, redirects: number): Promise<TryResult> {
  let next: string | undefined;
  const result = await settle(timeoutMs, (done) => {
    const request = requestFor(spec, (status, location) => {
      next = location;
      done(judge(status));
    });
    request.once("error", (error) => done(failure(error)));
    request.end();
    return () => request.destroy();
  });
  if (next === undefined || redirects >= MAX_REDIRECTS) return result;
  const followed = follow(spec, next);
  return followed === undefined ? result : tryHttp(followed, timeoutMs, redirects + 1);
}

function requestFor(
  spec: HttpSpec,
  onStatus: (status: number, location: string | undefined) => void,
): ClientRequest {
  const client = spec.secure ? process.getBuiltinModule("node:https") : http();
  const options = {
    host: spec.host,
    port: spec.port,
    path: spec.path,
    agent: false as const,
    // The certificate is the container's own and proves nothing about readiness.
    rejectUnauthorized: false,
    headers: { "user-agent": USER_AGENT, accept: "*/*", ...Object.fromEntries(spec.headers) },
  };
  return client.request(options, (response) => {
    response.resume();
    const status = response.statusCode ?? 0;
    const isRedirect = status >= 300 && status < 400;
    onStatus(status, isRedirect ? response.headers.location : undefined);
  });
}

/** The next hop of a redirect inside the pod; elsewhere it counts as it is, as for the kubelet. */
function follow(spec: HttpSpec, location: string): HttpSpec | undefined {
  const base = `${spec.secure ? "https" : "http"}://${spec.host}:${spec.port}`;
  const url = URL.parse(location, `${base}${spec.path}`);
  if (url === null || url.hostname !== spec.host) return undefined;
  const secure = url.protocol === "https:";
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  return { ...spec, secure, port, path: `${url.pathname}${url.search}` };
}

function tryHttp2(spec: HttpSpec, timeoutMs: number): Promise<TryResult> {
  return settle(timeoutMs, (done) => {
    const session = http2().connect(`http://${spec.host}:${spec.port}`);
    session.once("error", (error) => done(failure(error)));
    const stream = session.request({
      ":path": spec.path,
      "user-agent": USER_AGENT,
      ...Object.fromEntries(spec.headers.map(([name, value]) => [name.toLowerCase(), value])),
    });
    stream.once("response", (headers) => done(judge(Number(headers[":status"] ?? 0))));
    stream.once("error", (error) => done(failure(error)));
    stream.resume().end();
    return () => session.destroy();
  });
}

function tryGrpc(spec: GrpcSpec, timeoutMs: number): Promise<TryResult> {
  return settle(timeoutMs, (done) => {
    const session = http2().connect(`http://${spec.host}:${spec.port}`);
    session.once("error", (error) => done(failure(error)));
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": USER_AGENT,
    });
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.once("error", (error) => done(failure(error)));
    stream.once("end", () => done(judgeHealth(Buffer.concat(chunks))));
    stream.end(healthRequest(spec.service));
    return () => session.destroy();
  });
}

/** Length-prefixed `HealthCheckRequest { service = 1 }`; names over 127 bytes take a second byte. */
function healthRequest(service: string): Buffer {
  const name = Buffer.from(service, "utf8");
  const length =
    name.length < 128 ? [name.length] : [(name.length & 0x7f) | 0x80, name.length >> 7];
  const message =
    name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...length]), name]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

/** `HealthCheckResponse { status = 1 }` must be SERVING (1). */
function judgeHealth(body: Buffer): TryResult {
  const isServing = body.length >= 7 && body[5] === 0x08 && body[6] === 1;
  return isServing ? PASSED : { kind: "failed", reason: "gRPC health is not SERVING" };
}

function judge(status: number): TryResult {
  if (status >= 200 && status < 400) return PASSED;
  return { kind: "failed", reason: `probe answered ${status}` };
}

function failure(error: Error): TryResult {
  // An HTTP/2 stream wraps what happened to its connection.
  const origin = error.cause instanceof Error ? error.cause : error;
  if ((origin as NodeJS.ErrnoException).code === "ECONNREFUSED") {
    return { kind: "refused", reason: "container refuses connections" };
  }
  return { kind: "failed", reason: `probe failed: ${errorText(error).slice(0, MAX_REASON)}` };
}

/** Runs one try with a time limit; the try returns what ends it, called exactly once. */
function settle(
  timeoutMs: number,
  begin: (done: (result: TryResult) => void) => () => void,
): Promise<TryResult> {
  return new Promise((resolve) => {
    let isDone = false;
    const done = (result: TryResult): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      resolve(result);
      // After `begin` returned, also when it calls back at once.
      queueMicrotask(() => end());
    };
    const timer = setTimeout(
      () => done({ kind: "timeout", reason: `probe took over ${timeoutMs} ms` }),
      timeoutMs,
    );
    const end = begin(done);
  });
}
