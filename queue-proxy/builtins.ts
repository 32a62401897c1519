/**
 * Node's HTTP modules without their price: `import "node:http"` reads every export, and one of
 * them, the WebSocket client, pulls in 40 ms of other modules. Asking for the module object does
 * not, and this process starts inside every cold start.
 */
import type * as Http from "node:http";
import type * as Http2 from "node:http2";

export const http: typeof Http = process.getBuiltinModule("node:http");

/** Loaded when first used: only gRPC probes and HTTP/2 detection need it. */
export function http2(): typeof Http2 {
  return process.getBuiltinModule("node:http2");
}

export type { Server, ServerResponse } from "node:http";
