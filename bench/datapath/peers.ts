/** The proxies that are compared, each as one way to start it in front of an upstream. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SIDECAR_NODE_FLAGS } from "../../local/sidecar.ts";
import { writeToken } from "../../test/support/queue-proxy-process.ts";
import { type Measured, startMeasured } from "./processes.ts";
import type { Tool, Tools } from "./tools.ts";

export const PEER_NAMES = ["raw", "safe", "stock", "nginx", "haproxy"] as const;
export type PeerName = (typeof PEER_NAMES)[number];

export interface PeerOptions {
  readonly upstreamPort: number;
  /** 0 = no limit. */
  readonly concurrency: number;
}

export interface Peer extends Measured {
  readonly host: string;
  readonly port: number;
}

export interface PeerKind {
  readonly name: PeerName;
  /** Why it cannot be started; undefined when it can. */
  readonly why: string | undefined;
  start(options: PeerOptions): Promise<Peer>;
}

const PORT = 8_500;
const CORE = 0;
/** An address of its own, because the sidecar's other ports are fixed. */
const POD_IP = "127.77.0.1";

export function peerKinds(tools: Tools): readonly PeerKind[] {
  return [
    { name: "raw", why: undefined, start: (options) => startOurs("raw", tools, options) },
    { name: "safe", why: undefined, start: (options) => startOurs("safe", tools, options) },
    kind("stock", tools.stock, startStock),
    kind("nginx", tools.nginx, startNginx),
    kind("haproxy", tools.haproxy, startHaproxy),
  ];
}

type Program = Exclude<Tool, { readonly why: string }>;

function kind(
  name: PeerName,
  tool: Tool,
  start: (program: Program, options: PeerOptions) => Promise<Peer>,
): PeerKind {
  if ("why" in tool) {
    return { name, why: tool.why, start: () => Promise.reject(new Error(tool.why)) };
  }
  return { name, why: undefined, start: (options) => start(tool, options) };
}

/** What stock's controller gives every queue-proxy; the same for ours. */
function queueEnv({ upstreamPort, concurrency }: PeerOptions): Record<string, string> {
  const probe = {
    httpGet: { path: "/", port: upstreamPort, host: "127.0.0.1", scheme: "HTTP" },
    successThreshold: 1,
  };
  return {
    CONTAINER_CONCURRENCY: String(concurrency),
    QUEUE_SERVING_PORT: String(PORT),
    QUEUE_SERVING_TLS_PORT: "8112",
    USER_PORT: String(upstreamPort),
    REVISION_TIMEOUT_SECONDS: "300",
    SERVING_LOGGING_CONFIG: "",
    SERVING_LOGGING_LEVEL: "error",
    SERVING_NAMESPACE: "bench",
    SERVING_CONFIGURATION: "c",
    SERVING_REVISION: "r",
    SERVING_SERVICE: "s",
    SERVING_POD: "p",
    SERVING_READINESS_PROBE: JSON.stringify(probe),
  };
}

async function startOurs(form: "raw" | "safe", tools: Tools, options: PeerOptions): Promise<Peer> {
  const root = mkdtempSync(join(tmpdir(), "pilotlight-bench-"));
  writeFileSync(join(root, "activators"), "");
  writeToken(root, "bench");
  const measured = await startMeasured({
    command: process.execPath,
    args: [...SIDECAR_NODE_FLAGS, tools.sidecar],
    env: {
      ...queueEnv(options),
      SERVING_POD_IP: POD_IP,
      PILOTLIGHT_POD_ROOT: root,
      PILOTLIGHT_PROXY_FRONT: form,
    },
    host: POD_IP,
    port: PORT,
    core: CORE,
  });
  return withCleanUp({ ...measured, host: POD_IP, port: PORT }, root);
}

async function startStock(program: Program, options: PeerOptions): Promise<Peer> {
  const measured = await startMeasured({
    command: program.path,
    args: [],
    env: { ...program.env, ...queueEnv(options), SERVING_POD_IP: "127.0.0.1" },
    host: "127.0.0.1",
    port: PORT,
    core: CORE,
  });
  return { ...measured, host: "127.0.0.1", port: PORT };
}

function startNginx(program: Program, options: PeerOptions): Promise<Peer> {
  return startConfigured(program, nginxProxy(options.upstreamPort), (file, folder) => [
    "-p",
    folder,
    "-c",
    file,
    "-e",
    join(folder, "error.log"),
  ]);
}

function startHaproxy(program: Program, { upstreamPort }: PeerOptions): Promise<Peer> {
  const text = `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  option http-no-delay
  timeout client 300s
  timeout server 300s
  timeout connect 5s
listen proxy
  bind 127.0.0.1:${PORT}
  server upstream 127.0.0.1:${upstreamPort}
`;
  return startConfigured(program, text, (file) => ["-db", "-f", file]);
}

async function startConfigured(
  program: Program,
  text: string,
  args: (file: string, folder: string) => readonly string[],
): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-bench-"));
  mkdirSync(join(folder, "tmp"));
  const file = join(folder, "proxy.conf");
  writeFileSync(file, text.replaceAll("FOLDER", folder));
  const measured = await startMeasured({
    command: program.path,
    args: args(file, folder),
    env: program.env,
    host: "127.0.0.1",
    port: PORT,
    core: CORE,
  });
  return withCleanUp({ ...measured, host: "127.0.0.1", port: PORT }, folder);
}

function withCleanUp(peer: Peer, folder: string): Peer {
  return {
    ...peer,
    stop: async () => {
      await peer.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One process, keep-alive on both sides, no buffering, 64 KiB buffers (its best for bulk). */
function nginxProxy(upstreamPort: number): string {
  return `${NGINX_HEAD}
  upstream container { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${PORT} backlog=4096;
    location / {
      proxy_pass http://container;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
      proxy_read_timeout 300s;
    }
  }
}
`;
}

export const NGINX_HEAD = `daemon off;
master_process off;
pid FOLDER/nginx.pid;
worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path FOLDER/tmp/a;
  proxy_temp_path FOLDER/tmp/b;
  fastcgi_temp_path FOLDER/tmp/c;
  uwsgi_temp_path FOLDER/tmp/d;
  scgi_temp_path FOLDER/tmp/e;
  keepalive_requests 100000000;
  keepalive_timeout 120s;
  client_max_body_size 0;
  sendfile on;
  tcp_nodelay on;`;
