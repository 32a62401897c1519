/** Tells HTTP/2 by prior knowledge from everything else by the first bytes of a connection. */
import type { Socket } from "node:net";

/** The start of the client preface (RFC 9113 3.4); no HTTP/1.1 method begins so. */
const PREFACE = Buffer.from("PRI * HTTP/2.0");

export interface SniffedProtocols {
  /** Longest wait for the first bytes in ms. */
  readonly timeoutMs: number;
  onH2c(): void;
  onOther(): void;
}

/** Decides once; the bytes are given back to the socket before. */
export function sniffProtocol(socket: Socket, protocols: SniffedProtocols): void {
  let seen: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), protocols.timeoutMs);
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("data", onData);
    socket.off("end", onEnd);
    socket.off("error", ignoreError);
    socket.off("close", onClose);
  };
  const onClose = (): void => clearTimeout(timer);
  const onEnd = (): void => {
    socket.destroy();
  };
  const onData = (bytes: Buffer): void => {
    seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes]);
    const compared = Math.min(seen.length, PREFACE.length);
    const isPreface = PREFACE.compare(seen, 0, compared, 0, compared) === 0;
    if (isPreface && seen.length < PREFACE.length) return;
    stop();
    socket.pause();
    socket.unshift(seen);
    // An HTTP/2 session reads the buffer by itself; an HTTP/1.1 parser must be fed.
    if (isPreface) return protocols.onH2c();
    protocols.onOther();
    socket.resume();
  };
  socket.on("data", onData);
  socket.on("end", onEnd);
  socket.on("error", ignoreError);
  socket.on("close", onClose);
}

function ignoreError(): void {
  // `close` follows.
}
