/** The container of a pod: works on one request for a while and writes down each start. */
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { REQUEST_ID, WORK_MS } from "./settings.ts";

export interface ContainerEvents {
  started(id: string, running: number): void;
}

export class Container {
  /** False: the readiness probe is answered with 503. */
  isReady = true;
  running = 0;
  readonly #server: Server;
  readonly #events: ContainerEvents;

  constructor(events: ContainerEvents) {
    this.#events = events;
    this.#server = createServer((request, answer) => this.#serve(request, answer));
  }

  get port(): number {
    // A listening TCP server has an address object.
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  /** As a killed process: every connection ends at once. */
  async kill(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #serve(request: IncomingMessage, answer: ServerResponse): void {
    request.resume();
    if (request.url === "/ready") {
      answer.writeHead(this.isReady ? 200 : 503).end();
      return;
    }
    // Like any model server it can begin only when all of the request is there.
    request.once("end", () => this.#work(String(request.headers[REQUEST_ID] ?? ""), answer));
  }

  #work(id: string, answer: ServerResponse): void {
    this.running += 1;
    this.#events.started(id, this.running);
    const timer = setTimeout(() => answer.end(id), WORK_MS);
    answer.once("close", () => {
      clearTimeout(timer);
      this.running -= 1;
    });
  }
}
