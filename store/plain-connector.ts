/**
 * Connects to a server of the store and reads what it says into one buffer. Node makes a buffer of
 * 64 KiB for each read otherwise and shortens it afterwards, which costs more than the reply does.
 */
import { createConnection } from "node:net";
import type { Socket } from "node:net";
import { AbstractConnector } from "ioredis";
import type { RedisOptions } from "ioredis";

/** Replies of scripts are far below; a longer one takes several reads. */
const READ_BYTES = 65_536;
/** Time for a connection that was told to end. */
const DISCONNECT_MS = 2_000;

/** For plain TCP; where there is TLS the client connects by itself. */
export class PlainConnector extends AbstractConnector {
  readonly #options: Pick<RedisOptions, "host" | "port" | "family">;

  /** The client hands its own settings over. */
  constructor(settings: unknown) {
    super(DISCONNECT_MS);
    this.#options = settings as RedisOptions;
  }

  override connect(): Promise<Socket> {
    this.connecting = true;
    const { host = "localhost", port = 6_379, family } = this.#options;
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const stream: Socket = createConnection({
      host,
      port,
      ...(family === undefined ? {} : { family }),
      // A copy of what came: the parser of replies keeps the beginning of one that is not whole.
      onread: { buffer, callback: (count) => stream.push(Buffer.from(buffer.subarray(0, count))) },
    });
    this.stream = stream;
    stream.once("error", (error) => (this.firstError = error));
    return Promise.resolve(stream);
  }
}
