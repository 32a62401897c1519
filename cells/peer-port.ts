/**
 * The port that other cells reach: every connection proves the name of its cell, and is then either
 * a control stream or proxied traffic. Whoever proves no name of a known cell gets nothing.
 */
import type { AddressInfo } from "node:net";
import type { Server, TLSSocket } from "node:tls";
import { CONTROL_PROTOCOL } from "../common/contracts/cells.ts";
import type { Logger } from "../foundation/logger.ts";
import { cellOfPeer } from "./certificates.ts";
import type { Certificates } from "./certificates.ts";
import type { CellDirectory } from "./directory.ts";

const HTTP_PROTOCOL = "http/1.1";

export interface PeerPortOptions {
  readonly certificates: Certificates;
  readonly directory: CellDirectory;
  readonly logger: Logger;
  readonly onControl: (socket: TLSSocket, cell: string) => void;
  readonly onTraffic: (socket: TLSSocket, cell: string) => void;
}

export class PeerPort {
  readonly #options: PeerPortOptions;
  readonly #server: Server;
  readonly #sockets = new Set<TLSSocket>();
  #refused = 0;

  constructor(options: PeerPortOptions) {
    this.#options = options;
    this.#server = options.certificates.createServer([CONTROL_PROTOCOL, HTTP_PROTOCOL]);
    this.#server.on("secureConnection", (socket) => this.#accept(socket));
    // No certificate, a foreign one, or no TLS at all: the connection is closed already.
    this.#server.on("tlsClientError", () => {
      this.#refused += 1;
    });
  }

  /** Connections that proved no name of a known cell. */
  get refused(): number {
    return this.#refused;
  }

  async listen(host: string, port: number): Promise<{ address: string; port: number }> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    // A listening TCP server has an address object; a string is for pipes only.
    const { address, port: chosen } = this.#server.address() as AddressInfo;
    return { address, port: chosen };
  }

  stopAccepting(): void {
    this.#server.close();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: TLSSocket): void {
    const { directory, onControl, onTraffic, logger } = this.#options;
    const cell = cellOfPeer(socket);
    if (cell === "" || directory.get(cell) === undefined) {
      this.#refused += 1;
      logger.warn("peer refused: its certificate names no cell of ours", { cell });
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    if (socket.alpnProtocol === CONTROL_PROTOCOL) onControl(socket, cell);
    else onTraffic(socket, cell);
  }
}
