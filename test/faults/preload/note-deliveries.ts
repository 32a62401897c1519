/**
 * Loaded before every activator of a run: tells the rig which requests left this process on a
 * standing connection to a pod, as the sockets see it, whatever the activator says of them later.
 */
import { Socket } from "node:net";
import { POD_PORT, REQUEST_ID } from "../rig/settings.ts";

export interface DeliveryMessage {
  readonly type: "delivered";
  readonly id: string;
}

type Done = (error?: Error | null) => void;
type Write = (this: Socket, chunk: string | Buffer, encoding: BufferEncoding, done: Done) => void;
type Chunk = { readonly chunk: string | Buffer };
type WriteMany = (this: Socket, chunks: readonly Chunk[], done: Done) => void;

const ID = new RegExp(`${REQUEST_ID}: ?(\\S+)`, "gi");
// Node's own methods below the public `write`; all bytes of a socket pass them.
const prototype = Socket.prototype as unknown as { _write: Write; _writev: WriteMany };
const { _write: write, _writev: writeMany } = prototype;

prototype._write = function (chunk, encoding, done) {
  write.call(this, chunk, encoding, noting(this, chunk, done));
};
prototype._writev = function (chunks, done) {
  const text = chunks.map(({ chunk }) => textOf(chunk)).join("");
  writeMany.call(this, chunks, noting(this, text, done));
};

/** The callback of a write comes without an error once the kernel has the bytes. */
function noting(socket: Socket, chunk: string | Buffer, done: Done): Done {
  return (error) => {
    if ((error ?? null) === null && socket.remotePort === POD_PORT) {
      for (const [, id] of textOf(chunk).matchAll(ID)) process.send?.({ type: "delivered", id });
    }
    done(error);
  };
}

function textOf(chunk: string | Buffer): string {
  return typeof chunk === "string" ? chunk : chunk.toString("latin1");
}
