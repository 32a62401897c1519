/**
 * What stands behind every proxy: nginx for small answers and bulk (cheap, and the same for all),
 * and a server of our own for streams and for requests that are held.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NGINX_HEAD } from "./peers.ts";
import { startMeasured } from "./processes.ts";
import type { Tool } from "./tools.ts";

const PORT = 8_600;
const STREAM_PORT = 8_601;
const CORE = 1;
export const BULK_BYTES = 1_048_576;
/** Events of one stream per second, sent in small groups so that a timer of 1 ms can keep up. */
export const EVENTS_PER_SECOND = 5_000;

export interface Upstream {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startBulkUpstream(nginx: Tool): Promise<Upstream> {
  if ("why" in nginx) throw new Error(`No upstream without nginx: ${nginx.why}`);
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-bench-"));
  mkdirSync(join(folder, "tmp"));
  writeFileSync(join(folder, "bulk"), Buffer.alloc(BULK_BYTES, "x"));
  const text = `${NGINX_HEAD}
  server {
    listen 127.0.0.1:${PORT} backlog=4096;
    location = /bulk { root ${folder}; }
    location / { return 200 "hello, world\\n"; }
  }
}
`;
  const file = join(folder, "upstream.conf");
  writeFileSync(file, text.replaceAll("FOLDER", folder));
  const measured = await startMeasured({
    command: nginx.path,
    args: ["-p", folder, "-c", file, "-e", join(folder, "error.log")],
    env: nginx.env,
    host: "127.0.0.1",
    port: PORT,
    core: CORE,
  });
  return {
    port: PORT,
    stop: async () => {
      await measured.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function startStreamUpstream(): Promise<Upstream> {
  const timers = new Set<NodeJS.Timeout>();
  const server = createServer((request, response) => {
    if (request.url === "/events") return streamEvents(response, timers);
    if (request.url === "/hold") return void request.resume();
    response.end("ok");
    return undefined;
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(STREAM_PORT, "127.0.0.1", resolve));
  return {
    port: STREAM_PORT,
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function streamEvents(response: ServerResponse, timers: Set<NodeJS.Timeout>): void {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const startedAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1_000) * EVENTS_PER_SECOND;
    for (; sent < due; sent += 1) response.write(`data:${performance.now().toFixed(3)}\n\n`);
  }, 1);
  timers.add(timer);
  response.on("close", () => {
    clearInterval(timer);
    timers.delete(timer);
  });
}
