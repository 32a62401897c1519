/**
 * Node's HTTP modules without their price: `import "node:http"` reads every export, and one of
 * them, the WebSocket client, pulls in 40 ms of other modules. Asking for the module object does
 * not, and this process starts inside every cold start.
 */
import type * as Http from "node:http";
import type * as Http2 from "node:http2";
import type * as Tls from "node:tls";

export const http: typeof Http = process.getBuiltinModule("node:http");

/** Loaded when first used: only gRPC probes and HTTP/2 detection need it. */
export function http2(): typeof Http2 {
  return process.getBuiltinModule("node:http2");
}

/** Loaded only where a pod has a certificate. */
export function loadTls(): typeof Tls {
  return process.getBuiltinModule("node:tls");
}

export type { Server as TlsServer } from "node:tls";
export type { Agent, Server, ServerResponse } from "node:http";
