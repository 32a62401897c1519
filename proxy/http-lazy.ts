/**
 * Node's HTTP/1.1 module, loaded when first used: it takes 10 ms, the fast front needs nothing of it to
 * take a request, and the sidecar's start is part of every cold start. Asked for by name, because an
 * import reads every export, and one of them, the WebSocket client, pulls in 40 ms of other modules.
 */
import type * as Http from "node:http";

export function http(): typeof Http {
  return process.getBuiltinModule("node:http");
}

/** The words behind a status of ours; empty for one that has none. */
export function reasonPhrase(status: number): string {
  return http().STATUS_CODES[status] ?? "";
}
