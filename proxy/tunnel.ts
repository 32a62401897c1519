/**
 * Two switched connections joined: bytes both ways with back-pressure, half-close passed on, and
 * an end that says which side broke.
 */
import type { Duplex } from "node:stream";
import { closeFrame, FrameTracker } from "./websocket-close.ts";

export interface TunnelListener {
  onTunnelBytes(direction: "up" | "down", count: number): void;
  /** Called once. */
  onTunnelEnd(why: "done" | "client-gone" | "upstream-lost"): void;
}

export interface Tunnel {
  /** Closes the upstream's side; the client's is left to its owner. */
  dropUpstream(): void;
  /** Closes the client's side, a WebSocket with a close frame where one may stand. */
  cutClient(closeCode: number): void;
}

export interface TunnelSides {
  readonly client: Duplex;
  readonly upstream: Duplex;
  /** The bytes are WebSocket frames. */
  readonly isWebsocket: boolean;
}

/** How long a client may take to answer a close frame before its connection is cut. */
const CLOSE_LINGER_MS = 1_000;

/** Joins the two; both are read only from here on. */
export function joinTunnel(sides: TunnelSides, listener: TunnelListener): Tunnel {
  const tunnel = new JoinedTunnel(sides, listener);
  tunnel.start();
  return tunnel;
}

class JoinedTunnel implements Tunnel {
  #client: Duplex;
  #upstream: Duplex;
  #listener: TunnelListener;
  /** Frames towards each side, when the bytes are WebSocket frames. */
  #frames: { readonly up: FrameTracker; readonly down: FrameTracker } | undefined;
  #isEnded = false;
  #isCut = false;

  constructor(sides: TunnelSides, listener: TunnelListener) {
    this.#client = sides.client;
    this.#upstream = sides.upstream;
    this.#frames = sides.isWebsocket
      ? { up: new FrameTracker(), down: new FrameTracker() }
      : undefined;
    this.#listener = listener;
  }

  start(): void {
    const [client, upstream] = [this.#client, this.#upstream];
    client.on("error", ignoreError);
    upstream.on("error", ignoreError);
    client.on("close", () => this.#end("client-gone"));
    upstream.on("close", () => this.#end("upstream-lost"));
    this.#carry(client, upstream, "up");
    this.#carry(upstream, client, "down");
  }

  dropUpstream(): void {
    this.#isEnded = true;
    this.#upstream.destroy();
  }

  cutClient(closeCode: number): void {
    if (this.#isCut) return;
    this.#isCut = true;
    const client = this.#client;
    const frames = this.#frames?.down;
    if (frames?.isAtBoundary !== true || frames.sawClose || client.writableEnded) {
      client.destroy();
      return;
    }
    client.end(closeFrame(closeCode));
    const timer = setTimeout(() => client.destroy(), CLOSE_LINGER_MS);
    client.on("end", () => client.destroy());
    client.on("close", () => clearTimeout(timer));
    client.resume();
  }

  #carry(from: Duplex, to: Duplex, direction: "up" | "down"): void {
    from.on("data", (bytes: Buffer) => {
      if (this.#isEnded) return;
      this.#listener.onTunnelBytes(direction, bytes.length);
      this.#frames?.[direction].follow(bytes);
      if (!to.writableEnded && !to.write(bytes)) from.pause();
    });
    to.on("drain", () => from.resume());
    from.on("end", () => this.#onHalfClose(to, direction));
    from.resume();
  }

  #onHalfClose(to: Duplex, direction: "up" | "down"): void {
    if (this.#isEnded) return;
    // A WebSocket that ends without a close frame was lost, however politely its socket closed.
    if (this.#frames?.[direction].sawClose === false && !to.readableEnded) {
      return this.#end(direction === "up" ? "client-gone" : "upstream-lost");
    }
    to.end();
    if (this.#client.readableEnded && this.#upstream.readableEnded) this.#end("done");
  }

  #end(why: "done" | "client-gone" | "upstream-lost"): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#listener.onTunnelEnd(why);
    if (why === "client-gone") this.#client.destroy();
    if (why !== "done") this.#upstream.destroy();
  }
}

function ignoreError(): void {
  // `close` follows and says the same.
}
