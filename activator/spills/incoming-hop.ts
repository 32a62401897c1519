/**
 * A request that another cell sent here. It may not leave again; where it was sent to wait, that
 * cell keeps its end until it hears 100 from here, and no pod hears of the request before that end
 * begins to arrive: until then the other cell may send it elsewhere.
 */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { Attempt, Exchange } from "../../proxy/types.ts";
import type { HopHeaders } from "../core/hop.ts";

export class IncomingHop {
  readonly cell: string;
  readonly headers: HopHeaders;
  /** What of the body is known: it may turn out that there is none. */
  #body: "held-back" | "here" | "empty" = "held-back";

  constructor(cell: string, headers: HopHeaders) {
    this.cell = cell;
    this.headers = headers;
  }

  get revision(): RevisionKey {
    return `${this.headers.namespace}/${this.headers.revision}`;
  }

  /** A free slot or nothing. */
  get onlyFree(): boolean {
    return this.headers.spill === "warm";
  }

  /** A slot stands: calls when the other cell can no longer take the request back. */
  commit(exchange: Exchange, onCommitted: () => void): void {
    if (this.onlyFree || this.#body !== "held-back" || exchange.head.upgrade !== "") {
      return onCommitted();
    }
    exchange.awaitBody((isEmpty) => {
      this.#body = isEmpty ? "empty" : "here";
      onCommitted();
    });
  }

  /** The hop's framing ends here: a request without a body has none again. */
  framed(attempt: Attempt): Attempt {
    return this.#body === "empty" ? { ...attempt, awaitContinue: false, framing: "none" } : attempt;
  }
}
