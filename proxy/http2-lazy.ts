/**
 * Node's HTTP/2 module, loaded when the first connection speaks it: it costs 10 to 27 ms, and the
 * sidecar's start is part of every cold start. The codes are RFC 9113's, so that they need no module.
 */
import type * as Http2 from "node:http2";

export function http2(): typeof Http2 {
  return process.getBuiltinModule("node:http2");
}

/** Error codes (RFC 9113 7). */
export const NO_ERROR = 0x0;
export const INTERNAL_ERROR = 0x2;
export const REFUSED_STREAM = 0x7;
export const CANCEL = 0x8;

/** Flag of HEADERS and DATA: nothing follows (RFC 9113 6.1). */
export const END_STREAM = 0x1;
