/**
 * One try of a probe, as the kubelet would make it: HTTP, TCP, gRPC health or a command. Answers
 * with an empty text when it passed, else with the reason.
 */
import { execFile } from "node:child_process";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as requestTls } from "node:https";
import { connect } from "node:net";
import type { ProbeHandler } from "./service-types.ts";

export interface ProbeContext {
  readonly userPort: number;
  readonly timeoutMs: number;
  /** For commands: where and with what they run. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Put before a command, to run it inside a container; empty for a process. */
  readonly execPrefix: readonly string[];
}

/** gRPC frame of an empty HealthCheckRequest: not compressed, length 0. */
const EMPTY_GRPC_MESSAGE = Buffer.alloc(5);
/** HealthCheckResponse with status SERVING: field 1, varint 1. */
const SERVING = Buffer.from([0x08, 0x01]);
const GRPC_HEADER_BYTES = 5;

export function runProbe(handler: ProbeHandler, context: ProbeContext): Promise<string> {
  switch (handler.kind) {
    case "http":
      return httpProbe(handler, context);
    case "tcp":
      return tcpProbe(handler.port || context.userPort, context.timeoutMs);
    case "grpc":
      return grpcProbe(handler.port || context.userPort, handler.service, context.timeoutMs);
    case "exec":
      return execProbe(handler.command, context);
  }
}

function httpProbe(
  { http }: Extract<ProbeHandler, { kind: "http" }>,
  context: ProbeContext,
): Promise<string> {
  const send = http.scheme === "HTTPS" ? requestTls : request;
  return new Promise((resolve) => {
    const outgoing = send(
      {
        host: "127.0.0.1",
        port: http.port || context.userPort,
        path: http.path,
        headers: {
          "user-agent": "kube-probe/local",
          ...Object.fromEntries(http.headers.map(({ name, value }) => [name, value])),
        },
        agent: false,
        rejectUnauthorized: false,
        timeout: context.timeoutMs,
      },
      (response) => {
        response.resume();
        const status = response.statusCode ?? 0;
        resolve(status >= 200 && status < 400 ? "" : `HTTP probe answered ${status}`);
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error("timed out")));
    outgoing.on("error", (error) => resolve(`HTTP probe failed: ${error.message}`));
    outgoing.end();
  });
}

function tcpProbe(port: number, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: timeoutMs });
    const finish = (reason: string): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.on("connect", () => finish(""));
    socket.on("timeout", () => finish("TCP probe timed out"));
    socket.on("error", (error) => finish(`TCP probe failed: ${error.message}`));
  });
}

function grpcProbe(port: number, service: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const finish = (reason: string): void => {
      clearTimeout(timer);
      session.destroy();
      resolve(reason);
    };
    const timer = setTimeout(() => finish("gRPC probe timed out"), timeoutMs);
    session.on("error", (error) => finish(`gRPC probe failed: ${error.message}`));
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
    });
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", (error) => finish(`gRPC probe failed: ${error.message}`));
    stream.on("end", () => {
      const message = Buffer.concat(chunks).subarray(GRPC_HEADER_BYTES);
      finish(message.equals(SERVING) ? "" : "gRPC health is not SERVING");
    });
    stream.end(healthRequest(service));
  });
}

function healthRequest(service: string): Buffer {
  if (service === "") return EMPTY_GRPC_MESSAGE;
  const name = Buffer.from(service);
  const message = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const header = Buffer.alloc(GRPC_HEADER_BYTES);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

function execProbe(command: readonly string[], context: ProbeContext): Promise<string> {
  const [program = "", ...args] = [...context.execPrefix, ...command];
  return new Promise((resolve) => {
    const options = {
      cwd: context.cwd,
      env: context.env,
      timeout: context.timeoutMs,
      killSignal: "SIGKILL" as const,
    };
    execFile(program, args, options, (error) => {
      resolve(error === null ? "" : `exec probe failed: ${error.message.split("\n")[0] ?? ""}`);
    });
  });
}
