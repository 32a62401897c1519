/**
 * Certificate, key and trust of this cell, read again when the files change, so that a renewal
 * needs no restart: connections that stand go on, new ones use the new pair.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import type { ConnectionOptions, Server, TLSSocket } from "node:tls";
import { CELL_DOMAIN, CERTIFICATE_FILES } from "../common/contracts/cells.ts";
import type { Logger } from "../foundation/logger.ts";

const LOOK_EVERY_MS = 1_000;

interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
  readonly digest: string;
}

export interface DialRequest {
  /** The cell whose name its certificate must bear. */
  readonly cell: string;
  readonly host: string;
  readonly port: number;
  /** Negotiated protocol; empty for none. */
  readonly protocol: string;
}

export class Certificates {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #servers = new Set<Server>();
  #pair: Pair;
  #timer: NodeJS.Timeout | undefined;

  /** Throws when the folder has no whole pair: a peer port without a name is of no use. */
  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
    this.#pair = readPair(folder);
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  createServer(protocols: readonly string[]): Server {
    const { cert, key, ca } = this.#pair;
    const server = createServer({
      cert,
      key,
      ca,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3",
      ALPNProtocols: [...protocols],
      allowHalfOpen: true,
    });
    server.on("secureConnection", (socket) => socket.setNoDelay(true));
    this.#servers.add(server);
    server.on("close", () => this.#servers.delete(server));
    return server;
  }

  dial({ cell, host, port, protocol }: DialRequest): TLSSocket {
    const { cert, key, ca } = this.#pair;
    const options: ConnectionOptions & { readonly allowHalfOpen: boolean } = {
      host,
      port,
      cert,
      key,
      ca,
      servername: `${cell}.${CELL_DOMAIN}`,
      minVersion: "TLSv1.3",
      // Half-close is the business of whoever reads.
      allowHalfOpen: true,
      ...(protocol === "" ? {} : { ALPNProtocols: [protocol] }),
    };
    const socket = connect(options);
    socket.setNoDelay(true);
    return socket;
  }

  #look(): void {
    try {
      const pair = readPair(this.#folder);
      if (pair.digest === this.#pair.digest) return;
      const { cert, key, ca } = pair;
      for (const server of this.#servers) {
        server.setSecureContext({ cert, key, ca, minVersion: "TLSv1.3" });
      }
      this.#pair = pair;
      this.#logger.info("certificate of this cell replaced");
    } catch (error) {
      // Half of a renewal is on disk: the pair in use stays.
      this.#logger.warn("certificate not read again", { error });
    }
  }
}

/** Name of the cell that a peer's certificate proves; empty when it names none. */
export function cellOfPeer(socket: TLSSocket): string {
  const names = socket.getPeerCertificate().subjectaltname ?? "";
  const suffix = `.${CELL_DOMAIN}`;
  for (const part of names.split(", ")) {
    if (!part.startsWith("DNS:") || !part.endsWith(suffix)) continue;
    return part.slice("DNS:".length, -suffix.length);
  }
  return "";
}

function readPair(folder: string): Pair {
  const read = (file: string): Buffer => readFileSync(join(folder, file));
  const cert = read(CERTIFICATE_FILES.cert);
  const key = read(CERTIFICATE_FILES.key);
  const ca = read(CERTIFICATE_FILES.ca);
  const digest = createHash("sha256").update(cert).update(key).update(ca).digest("hex");
  return { cert, key, ca, digest };
}
