/**
 * Connects to the nodes of a cluster in turn: for subscriptions any node will do, and when one is
 * lost the next one is tried.
 */
import { createConnection } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector } from "ioredis";
import type { StoreNode } from "./address.ts";

/** Time for a connection that was told to end. */
const DISCONNECT_MS = 2_000;

export interface TurnOptions {
  readonly nodes: readonly StoreNode[];
  readonly tls: boolean;
}

/** A class, since the client makes its connector itself. */
export function turnConnector(options: TurnOptions): new (settings: unknown) => AbstractConnector {
  let turn = 0;
  return class TurnConnector extends AbstractConnector {
    constructor() {
      super(DISCONNECT_MS);
    }

    override connect(): Promise<Socket> {
      this.connecting = true;
      const node = options.nodes[turn % options.nodes.length];
      turn += 1;
      if (node === undefined)
        return Promise.reject(new Error("None of startup nodes is available"));
      const { host, port } = node;
      const stream = options.tls ? connectTls({ host, port }) : createConnection({ host, port });
      this.stream = stream;
      stream.once("error", (error) => (this.firstError = error));
      return Promise.resolve(stream);
    }
  };
}
