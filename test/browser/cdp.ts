/**
 * A small client of the browser's own protocol over one WebSocket: commands with answers, events
 * by session. All that driving a few pages needs, and nothing to install.
 */
import { WebSocket } from "ws";

type Params = Readonly<Record<string, unknown>>;
type Listener = (params: Params, sessionId: string) => void;

interface Message {
  readonly id?: number;
  readonly result?: Params;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: Params;
  readonly sessionId?: string;
}

interface Waiting {
  readonly resolve: (result: Params) => void;
  readonly reject: (error: Error) => void;
}

/** A browser that does not answer in this time has hung. */
const ANSWER_MS = 30_000;

export class Cdp {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #next = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer) => this.#onMessage(data.toString()));
    socket.on("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the browser is gone"));
    });
  }

  static connect(url: string): Promise<Cdp> {
    const socket = new WebSocket(url, { maxPayload: 256 * 1_048_576 });
    return new Promise((resolve, reject) => {
      socket.on("open", () => resolve(new Cdp(socket)));
      socket.on("error", reject);
    });
  }

  send<T = Params>(method: string, params: Params = {}, sessionId?: string): Promise<T> {
    const id = this.#next;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`${method} was not answered within ${ANSWER_MS} ms`));
      }, ANSWER_MS);
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
      };
      this.#waiting.set(id, {
        // The protocol says what each method answers; the caller names it.
        resolve: (result) => (done(), resolve(result as T)),
        reject: (error) => (done(), reject(error)),
      });
      this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
    });
  }

  /** Calls for each event of that name; answers the function that ends it. */
  on(method: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  close(): void {
    this.#socket.close();
  }

  #onMessage(text: string): void {
    const message = JSON.parse(text) as Message;
    if (message.id === undefined) return this.#tell(message);
    const waiting = this.#waiting.get(message.id);
    if (message.error !== undefined) waiting?.reject(new Error(message.error.message));
    else waiting?.resolve(message.result ?? {});
  }

  #tell({ method = "", params = {}, sessionId = "" }: Message): void {
    for (const listener of this.#listeners.get(method) ?? []) listener(params, sessionId);
  }
}
