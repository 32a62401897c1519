/**
 * Deliveries of answers that a caller has already: kept in this process only, since the caller has
 * what was promised. Bounded; a process that stops waits for them.
 */
import type { ServiceKey, WebhookTarget } from "../../common/contracts/async-runs.ts";
import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { RevisionMetrics } from "../metrics.ts";
import type { CopiedAnswer } from "./answer-copy.ts";
import type { WebhookSender } from "./webhook-sender.ts";

/** Bytes of answers that wait for their receivers. */
const MOST_BYTES = 128 * 1_048_576;
const MOST_DELIVERIES = 10_000;

export interface FollowUpDelivery extends CopiedAnswer {
  readonly runId: string;
  readonly service: ServiceKey;
  readonly target: WebhookTarget;
  readonly secret: string;
  readonly metrics: RevisionMetrics;
}

export interface FollowUpOptions {
  readonly sender: WebhookSender;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class FollowUp {
  readonly #options: FollowUpOptions;
  readonly #open = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #bytes = 0;

  constructor(options: FollowUpOptions) {
    this.#options = options;
  }

  send(delivery: FollowUpDelivery): void {
    const { body, runId, service, metrics } = delivery;
    if (this.#open.size >= MOST_DELIVERIES || this.#bytes + body.length > MOST_BYTES) {
      this.#options.logger.warn("webhook not sent: too many wait", { service, run: runId });
      return metrics.countDelivery("failed");
    }
    this.#bytes += body.length;
    const sending = this.#send(delivery).finally(() => {
      this.#bytes -= body.length;
      this.#open.delete(sending);
    });
    this.#open.add(sending);
  }

  async drained(): Promise<void> {
    await Promise.all(this.#open);
  }

  close(): void {
    this.#stop.abort();
  }

  async #send(delivery: FollowUpDelivery): Promise<void> {
    const { sender, clock } = this.#options;
    const { headers, tooLarge, metrics, body, ...rest } = delivery;
    const answer = { headers, omitted: tooLarge };
    try {
      const sent = { ...rest, answer, body: tooLarge ? NOTHING : body, endedAt: clock.now() };
      const { outcome } = await sender.send(sent, this.#stop.signal);
      metrics.countDelivery(outcome);
    } catch {
      // This process ends: nobody is left to send it.
      metrics.countDelivery("failed");
    }
  }
}

const NOTHING = Buffer.alloc(0);
