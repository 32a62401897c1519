/**
 * Node's HTTP modules without their price: `import "node:http"` reads every export, and one of
 * them, the WebSocket client, pulls in 40 ms of other modules. Asking for the module object does
 * not, but still takes 10 ms, and this process starts inside every cold start: they are loaded
 * when first used.
 */
import type * as Http from "node:http";
import type * as Http2 from "node:http2";

export function http(): typeof Http {
  return process.getBuiltinModule("node:http");
}

/** Only gRPC probes and HTTP/2 detection need it. */
export function http2(): typeof Http2 {
  return process.getBuiltinModule("node:http2");
}

export type { Server, ServerResponse } from "node:http";
