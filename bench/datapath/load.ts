/** Load: wrk for requests, and bare sockets for streams and held requests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { writeFileSync } from "node:fs";
import { LOAD_CORE, pinned } from "./processes.ts";
import type { Tool } from "./tools.ts";

export interface LoadResult {
  readonly requests: number;
  readonly rps: number;
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
  readonly errors: number;
}

export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** A wrk script, for uploads. */
  readonly script?: string;
  /** `Name: value`. */
  readonly headers?: readonly string[];
}

export async function runWrk(wrk: Tool, options: LoadOptions): Promise<LoadResult> {
  if ("why" in wrk) throw new Error(wrk.why);
  const { url, connections, seconds, script, headers = [] } = options;
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", "--timeout", "10s"];
  if (script !== undefined) args.push("-s", script);
  for (const header of headers) args.push("-H", header);
  const [command, all] = pinned(LOAD_CORE, wrk.path, [...args, url]);
  const child = spawn(command, all, { env: { ...process.env, ...wrk.env } });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  await once(child, "close");
  const requests = Number(/(\d+) requests in/.exec(text)?.[1] ?? Number.NaN);
  if (!(requests > 0)) throw new Error(`wrk measured nothing: ${text}`);
  return {
    requests,
    rps: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1] ?? Number.NaN),
    p50Us: microseconds(/50%\s+([\d.]+)(us|ms|s)/.exec(text)),
    p90Us: microseconds(/90%\s+([\d.]+)(us|ms|s)/.exec(text)),
    p99Us: microseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(text)),
    errors: errorsIn(text),
  };
}

/** A wrk script that sends bodies of this size. */
export function writeUploadScript(file: string, bytes: number): void {
  writeFileSync(file, `wrk.method = "POST"\nwrk.body = string.rep("x", ${bytes})\n`);
}

function errorsIn(text: string): number {
  const sockets = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text);
  const other = /Non-2xx or 3xx responses: (\d+)/.exec(text);
  const numbers = [...(sockets?.slice(1) ?? []), other?.[1] ?? "0"].map(Number);
  return numbers.reduce((sum, number) => sum + number, 0);
}

const UNITS = { us: 1, ms: 1_000, s: 1_000_000 } as const;

function microseconds(match: RegExpExecArray | null): number {
  return Number(match?.[1]) * UNITS[(match?.[2] ?? "us") as keyof typeof UNITS];
}

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Opens this many requests that will not be answered; returns how to let them go. */
export async function holdRequests({ host, port }: Place, count: number): Promise<() => void> {
  const body = "x".repeat(1_024);
  const text = `POST /hold HTTP/1.1\r\nHost: bench\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i += 1) {
    const socket = connect({ host, port });
    socket.on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "connect");
    socket.write(text);
  }
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

/** Reads an event stream; each event carries the time at which it was sent. */
export async function readEvents(
  { host, port }: Place,
  seconds: number,
): Promise<{ readonly events: number; readonly p50Us: number }> {
  const socket = connect({ host, port, noDelay: true });
  socket.write("GET /events HTTP/1.1\r\nHost: bench\r\n\r\n");
  const delays: number[] = [];
  let rest = "";
  socket.on("data", (bytes) => {
    const now = performance.now();
    const lines = (rest + bytes.toString("latin1")).split("\n\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const sentAt = Number(/data:([\d.]+)$/.exec(line)?.[1]);
      if (sentAt > 0) delays.push(now - sentAt);
    }
  });
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  socket.destroy();
  const sorted = delays.toSorted((one, other) => one - other);
  const p50 = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return { events: delays.length, p50Us: p50 * 1_000 };
}
