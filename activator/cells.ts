/**
 * The activator's side of a platform of several cells: the node that knows them, the desk where
 * requests are weighed, and the front on which requests of other cells enter.
 */
import type { TLSSocket } from "node:tls";
import { CellNode } from "../cells/node.ts";
import { withoutMapping } from "../common/peer-address.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import { createFront } from "../proxy/front.ts";
import type { SocketFront } from "../proxy/front.ts";
import type { Exchange, FrontOptions } from "../proxy/types.ts";
import type { Upstream } from "../proxy/upstream.ts";
import type { CellCalls } from "../store/cell-calls.ts";
import type { RoutingStore, StoreSubscriber } from "../store/types.ts";
import type { CellConfig } from "./cell-config.ts";
import type { DispatchParts } from "./dispatch-parts.ts";
import type { Hold } from "./hold.ts";
import type { Revisions } from "./revisions.ts";
import { createPeerEntrance } from "./spills/peer-entrance.ts";
import { SpillDesk } from "./spills/spill-desk.ts";

/** The first bytes of a body that was held back must be kept until its attempt begins. */
const LEAST_REPLAY_BYTES = 262_144;

export interface CellsOptions {
  readonly config: CellConfig;
  readonly activatorId: string;
  readonly store: RoutingStore;
  readonly calls: CellCalls;
  readonly subscriber: StoreSubscriber;
  readonly random: Random;
  readonly logger: Logger;
}

export interface CellsParts {
  readonly parts: DispatchParts;
  readonly hold: Hold;
  readonly revisions: Revisions;
  readonly front: FrontOptions;
  readonly upstream: Upstream;
  readonly unhealthy: () => string;
}

export class ActivatorCells {
  readonly node: CellNode;
  readonly desk: SpillDesk;
  readonly #peers = new Map<string, string>();
  #front: SocketFront | undefined;
  #waiting: { readonly hold: Hold; readonly revisions: Revisions } | undefined;

  constructor(options: CellsOptions) {
    const { config, random } = options;
    const now = (): number => performance.now();
    this.node = new CellNode({
      own: config.cell,
      folder: config.cellsFolder,
      certificates: config.cellCertificates,
      listen: config.cellListen,
      ...options,
      now,
      onTraffic: (socket, cell) => this.#accept(socket, cell),
      onNews: (services) => this.desk.heard(services),
    });
    this.desk = new SpillDesk({
      node: this.node,
      random,
      now,
      reconsider: (service, most) => this.#reconsider(service, most),
    });
  }

  /** Tells the node of each change that this activator makes in the store. */
  watch(store: RoutingStore): RoutingStore {
    const { node } = this;
    const touching =
      <Args extends readonly unknown[], Result>(
        call: (...args: Args) => Promise<Result>,
        revisionOf: (...args: Args) => Parameters<CellNode["touch"]>[0],
      ) =>
      async (...args: Args): Promise<Result> => {
        const result = await call(...args);
        node.touch(revisionOf(...args));
        return result;
      };
    return {
      ...store,
      acquireLease: touching(store.acquireLease.bind(store), ({ revision }) => revision),
      releaseLease: touching(store.releaseLease.bind(store), ({ revision }) => revision),
      cancelTicket: touching(store.cancelTicket.bind(store), (revision) => revision),
      reportReadiness: touching(store.reportReadiness.bind(store), ({ revision }) => revision),
      reportProbe: touching(store.reportProbe.bind(store), (revision) => revision),
    };
  }

  /** Makes the front for other cells; apart from the public one, which knows no hops. */
  join({ parts, hold, revisions, front, upstream, unhealthy }: CellsParts): void {
    this.#waiting = { hold, revisions };
    const replayBytes = Math.max(front.replayBytes, LEAST_REPLAY_BYTES);
    const entrance = createPeerEntrance({
      parts,
      revisions,
      node: this.node,
      cellOf: (exchange) => this.#cellOf(exchange),
      unhealthy,
    });
    this.#front = createFront({ ...front, replayBytes }, entrance, upstream);
  }

  async open(): Promise<string> {
    const { address, port } = await this.node.start();
    return `${address}:${port}`;
  }

  stopAccepting(): void {
    this.node.stopAccepting();
    this.#front?.stopAccepting();
  }

  async drained(): Promise<void> {
    await this.#front?.drained();
  }

  async close(): Promise<void> {
    this.desk.close();
    this.node.close();
    await this.#front?.close();
  }

  #accept(socket: TLSSocket, cell: string): void {
    const key = `${withoutMapping(socket.remoteAddress ?? "")} ${socket.remotePort ?? 0}`;
    this.#peers.set(key, cell);
    socket.on("close", () => this.#peers.delete(key));
    // Its first bytes say what it speaks, as on the cleartext ports.
    socket.alpnProtocol = "h2";
    if (this.#front === undefined) socket.destroy();
    else this.#front.accept(socket);
  }

  #cellOf({ head }: Exchange): string {
    return this.#peers.get(`${head.remoteAddress} ${head.remotePort}`) ?? "";
  }

  #reconsider(service: string, most: number): void {
    if (this.#waiting === undefined) return;
    const { hold, revisions } = this.#waiting;
    let left = most;
    for (const { config, tickets } of revisions.all()) {
      if (config === null || tickets.size === 0) continue;
      if (`${config.namespace}/${config.service}` !== service) continue;
      for (const ticket of tickets.values()) {
        if (left <= 0) return;
        if (ticket.state !== "waiting") continue;
        left -= 1;
        hold.reconsider(ticket);
      }
    }
  }
}
