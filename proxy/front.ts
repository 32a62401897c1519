/**
 * One port for HTTP/1.1 and h2c: the first bytes of a connection tell which it speaks, as on
 * stock's ports.
 */
import { createH2cFront } from "./h2c-front.ts";
import { Http1Front } from "./http1-front.ts";
import { RawFront } from "./raw-front.ts";
import type { Socket } from "node:net";
import type { Front, FrontHooks, FrontOptions } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** A front that also takes connections which another server accepted, as one with TLS does. */
export interface SocketFront extends Front {
  accept(socket: Socket): void;
}

export function createFront(
  options: FrontOptions,
  hooks: FrontHooks,
  upstream: Upstream,
): SocketFront {
  const h2c = createH2cFront(options, hooks, upstream);
  const Http1 = options.form === "raw" ? RawFront : Http1Front;
  const http1 = new Http1(options, hooks, { upstream, h2c });
  return {
    listen: (where) => http1.listen(where),
    accept: (socket) => http1.accept(socket),
    stopAccepting: () => {
      http1.stopAccepting();
      h2c.stopAccepting();
    },
    drained: async () => {
      await Promise.all([http1.drained(), h2c.drained()]);
    },
    close: async () => {
      await Promise.all([http1.close(), h2c.close()]);
    },
    get open() {
      return http1.open + h2c.open;
    },
  };
}
