/**
 * The way between two cells on one machine: carries bytes with a delay as a long line has it, and on
 * command delays more, loses connections, goes dead in one or both directions, or halts.
 */
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

export type RelayDirection = "out" | "back";

export interface RelayState {
  /** Of each direction, ms. */
  readonly delayMs: number;
  /** Bytes of these directions vanish, as behind a cut line; connections stay open. */
  readonly dead: readonly RelayDirection[];
  /** Nothing moves, and nothing is lost. */
  readonly halted: boolean;
  /** New connections are refused. */
  readonly refusing: boolean;
}

export const CALM: RelayState = { delayMs: 0, dead: [], halted: false, refusing: false };

interface Parcel {
  readonly dueAt: number;
  readonly bytes: Load;
}

/** Bytes, the end of one direction, or that of the connection. */
type Load = Buffer | "end" | "close";

/** Bytes on their way in one direction of one connection. */
class Lane {
  readonly #to: Socket;
  readonly #direction: RelayDirection;
  readonly #relay: CellRelay;
  readonly #parcels: Parcel[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(relay: CellRelay, direction: RelayDirection, to: Socket) {
    this.#relay = relay;
    this.#direction = direction;
    this.#to = to;
  }

  put(bytes: Load): void {
    const { delayMs, dead } = this.#relay.state;
    if (dead.includes(this.#direction)) return;
    if (delayMs === 0 && this.#parcels.length === 0 && !this.#relay.state.halted) {
      return this.#deliver(bytes);
    }
    this.#parcels.push({ dueAt: performance.now() + delayMs, bytes });
    this.pump();
  }

  /** In order, whatever became of the delay meanwhile. */
  pump(): void {
    clearTimeout(this.#timer);
    if (this.#relay.state.halted) return;
    const now = performance.now();
    for (let next = this.#parcels[0]; next !== undefined; next = this.#parcels[0]) {
      if (next.dueAt > now) {
        this.#timer = setTimeout(() => this.pump(), next.dueAt - now);
        return;
      }
      this.#parcels.shift();
      this.#deliver(next.bytes);
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #deliver(bytes: Load): void {
    if (bytes === "close") this.#relay.closed(this, this.#to);
    else if (this.#to.destroyed) return;
    else if (bytes === "end") this.#to.end();
    else this.#to.write(bytes);
  }
}

export class CellRelay {
  #state: RelayState;
  readonly #server: Server;
  readonly #lanes = new Set<Lane>();
  readonly #sockets = new Set<Socket>();
  #targets: readonly string[] = [];
  #turn = 0;
  #bytes = 0;

  constructor(state: Partial<RelayState> = {}) {
    this.#state = { ...CALM, ...state };
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.#accept(socket),
    );
  }

  get state(): RelayState {
    return this.#state;
  }

  /** Carried so far, both directions. */
  get bytes(): number {
    return this.#bytes;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    // A listening TCP server has an address object; a string is for pipes only.
    const { port } = this.#server.address() as AddressInfo;
    return `127.0.0.1:${port}`;
  }

  /** Where new connections lead from now on, in turn. */
  leadTo(...targets: readonly string[]): void {
    this.#targets = targets;
  }

  set(change: Partial<RelayState>): void {
    this.#state = { ...this.#state, ...change };
    for (const lane of this.#lanes) lane.pump();
  }

  /** Every connection breaks now. */
  drop(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.#server.close();
    for (const lane of this.#lanes) lane.stop();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(near: Socket): void {
    this.#turn += 1;
    const target = this.#targets[this.#turn % this.#targets.length] ?? "";
    const colon = target.lastIndexOf(":");
    if (this.#state.refusing || colon < 1) {
      near.resetAndDestroy();
      return;
    }
    const host = target.slice(0, colon);
    const far = connect({
      host,
      port: Number(target.slice(colon + 1)),
      allowHalfOpen: true,
      noDelay: true,
    });
    this.#join(near, far, "out");
    this.#join(far, near, "back");
  }

  #join(from: Socket, to: Socket, direction: RelayDirection): void {
    const lane = new Lane(this, direction, to);
    this.#lanes.add(lane);
    this.#sockets.add(from);
    from.on("data", (bytes) => {
      this.#bytes += bytes.length;
      lane.put(bytes);
    });
    from.on("end", () => lane.put("end"));
    // Its close follows.
    from.on("error", () => undefined);
    from.on("close", () => {
      this.#sockets.delete(from);
      // Behind what is still on its way.
      lane.put("close");
    });
  }

  /** For a lane whose last load arrived. */
  closed(lane: Lane, to: Socket): void {
    this.#lanes.delete(lane);
    to.destroy();
  }
}
