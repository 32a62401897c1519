/**
 * Loaded before an activator: on a message from the rig, nothing passes any more between this
 * process and the named peers. A new connection gets no answer, as when its first packet is lost;
 * bytes on a standing one wait, in both directions, and pass when the cut ends, as TCP sends again
 * what was lost.
 */
import { Socket } from "node:net";

/** `host:port` of peers that cannot be reached now. */
let peers: ReadonlySet<string> = new Set();
const sockets = new Map<Socket, string>();
/** Writes and connects that wait for the end of the cut. */
let held: (() => void)[] = [];

interface CutMessage {
  readonly type: "cut";
  readonly peers: readonly string[];
}

type Connect = (this: Socket, ...args: unknown[]) => Socket;
type Write = (this: Socket, ...args: unknown[]) => void;

const prototype = Socket.prototype as unknown as {
  connect: Connect;
  _write: Write;
  _writev: Write | undefined;
};
const { connect, _write: write, _writev: writev } = prototype;

prototype.connect = function (...args) {
  const peer = peerOf(args);
  if (peer !== undefined) {
    sockets.set(this, peer);
    this.once("close", () => sockets.delete(this));
    if (peers.has(peer)) {
      held.push(() => {
        if (!this.destroyed) connect.apply(this, args);
      });
      return this;
    }
  }
  return connect.apply(this, args);
};

prototype._write = holding(write);
if (writev !== undefined && writev !== null) prototype._writev = holding(writev);

process.on("message", (message: CutMessage) => {
  if (message.type !== "cut") return;
  peers = new Set(message.peers);
  for (const [socket, peer] of sockets) {
    if (peers.has(peer)) socket.pause();
    else if (socket.isPaused()) socket.resume();
  }
  if (peers.size === 0) {
    const waiting = held;
    held = [];
    for (const go of waiting) go();
  }
  process.send?.({ type: "cut done" });
});

function holding(original: Write): Write {
  return function (...args) {
    const peer = sockets.get(this);
    if (peer === undefined || !peers.has(peer)) return original.apply(this, args);
    held.push(() => {
      if (!this.destroyed) original.apply(this, args);
    });
  };
}

/** `net.connect` hands over its arguments as one array, or as options. */
function peerOf(args: readonly unknown[]): string | undefined {
  const first = Array.isArray(args[0]) ? (args[0] as unknown[])[0] : args[0];
  if (typeof first !== "object" || first === null) return undefined;
  const { host, port } = first as { readonly host?: string; readonly port?: number | string };
  return port === undefined ? undefined : `${host ?? "127.0.0.1"}:${port}`;
}
