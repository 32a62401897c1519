/**
 * What of gRPC the platform itself must know: how a call is told from other requests, its deadline
 * on the wire, and the encoding of a status message. Both hops answer gRPC callers by it.
 */

export const GRPC_TIMEOUT = "grpc-timeout";

/** Milliseconds per unit letter of `grpc-timeout`. */
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};
const TIMEOUT = /^([0-9]{1,8})([HMSmun])$/;

/** gRPC proper and gRPC-Web, in any of their encodings. */
export function isGrpc(contentType: string): boolean {
  return /^application\/grpc(?:-web(?:-text)?)?(?:[+;]|$)/i.test(contentType.trim());
}

/** Undefined when the value is absent or malformed: then only the platform's own limits hold. */
export function parseGrpcTimeoutMs(value: string): number | undefined {
  const match = TIMEOUT.exec(value);
  if (match === null) return undefined;
  return Number(match[1]) * (UNIT_MS[match[2] ?? ""] ?? 0);
}

/** Percent-encodes what may not stand in `grpc-message`; never throws, whatever the text. */
export function encodeGrpcMessage(text: string): string {
  let encoded = "";
  for (const byte of Buffer.from(text, "utf8")) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
