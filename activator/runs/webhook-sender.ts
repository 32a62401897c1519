/**
 * Sends an answer to a webhook: up to three attempts, each to an address that was resolved and
 * judged for this very connection. Redirects are not followed.
 */
import { lookup } from "node:dns";
import type { LookupAddress } from "node:dns";
import { request as httpRequest } from "node:http";
import type { ClientRequest, RequestOptions } from "node:http";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../common/clock.ts";
import { errorText } from "../../common/errors.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { AddressGuard, AddressRule } from "../core/webhook-address.ts";
import { checkWebhookUrl, hostOf } from "../core/webhook-address.ts";
import { MAX_TRIES, PAUSES_MS, deliveryHeaders, judgeTry } from "../core/webhook-delivery.ts";
import type { Delivery, TryOutcome } from "../core/webhook-delivery.ts";

/** Connect, send and first byte of the answer (bar). */
const TRY_TIMEOUT_MS = 10_000;

export interface SenderOptions {
  readonly guard: AddressGuard;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Waits before another attempt; for tests. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** For tests. */
  readonly resolve?: typeof lookup;
}

export interface SendResult {
  readonly outcome: "delivered" | "failed";
  readonly tries: number;
}

export class WebhookSender {
  readonly #options: SenderOptions;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Rejects only when `signal` ends it between or in its attempts. */
  async send(delivery: Delivery, signal: AbortSignal): Promise<SendResult> {
    const { logger } = this.#options;
    const pause = this.#options.pause ?? pauseFor;
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#try(delivery, signal);
      signal.throwIfAborted();
      const verdict = judgeTry(outcome);
      if (verdict === "delivered") return { outcome: "delivered", tries };
      if (verdict === "given-up" || tries === MAX_TRIES) {
        const { runId, service } = delivery;
        logger.warn("webhook not delivered", { service, run: runId, tries, outcome });
        return { outcome: "failed", tries };
      }
      await pause(PAUSES_MS[tries - 1] ?? 0, signal);
    }
  }

  async #try(delivery: Delivery, signal: AbortSignal): Promise<TryOutcome> {
    const { guard } = this.#options;
    const { url: text, hosts } = delivery.target;
    const checked = checkWebhookUrl(text, hosts, guard);
    if (checked.kind === "refused") return { kind: "refused-address", message: checked.message };
    const { url, rule } = checked;
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TRY_TIMEOUT_MS)]);
      return { kind: "answered", status: await this.#post({ url, rule, delivery, signal: limit }) };
    } catch (error) {
      const isAddress = error instanceof RefusedAddress;
      return { kind: isAddress ? "refused-address" : "failed", message: errorText(error) };
    }
  }

  async #post(post: {
    readonly url: URL;
    readonly rule: AddressRule;
    readonly delivery: Delivery;
    readonly signal: AbortSignal;
  }): Promise<number> {
    const { url, rule, delivery, signal } = post;
    const send = await requestOf(url);
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const outgoing = send(url, {
        method: "POST",
        headers: deliveryHeaders(delivery, clock.now()),
        agent: false,
        signal,
        lookup: this.#lookup(rule),
      });
      outgoing.on("response", (response) => {
        resolve(response.statusCode ?? 0);
        // The receiver's words are of no interest, and may have no end.
        response.destroy();
      });
      outgoing.on("error", reject);
      outgoing.end(delivery.body);
    });
  }

  /** The connection goes to exactly the addresses that were judged here. */
  #lookup(rule: AddressRule): LookupFunction {
    const { guard, resolve = lookup } = this.#options;
    return (host, options, callback) => {
      resolve(host, { ...options, all: true }, (error, found) => {
        // With `all` the answer is a list.
        const addresses = (found ?? []) as unknown as LookupAddress[];
        const refused = addresses.find(({ address }) => !guard.allows(address, rule));
        if (error !== null) return callback(error, []);
        if (refused !== undefined) {
          return callback(new RefusedAddress(`${host} is at ${refused.address}`), []);
        }
        const [first] = addresses;
        if (options.all === true || first === undefined) return callback(null, addresses);
        return callback(null, first.address, first.family);
      });
    };
  }
}

class RefusedAddress extends Error {}

type Send = (url: URL, options: RequestOptions) => ClientRequest;

/** TLS costs time and memory; it is loaded when somebody needs it. */
async function requestOf(url: URL): Promise<Send> {
  if (url.protocol === "http:") return (to, options) => httpRequest(to, options);
  const https = await import("node:https");
  // A name is what the certificate must show; an address has none to ask for.
  const named = isIP(hostOf(url)) === 0 ? { servername: hostOf(url) } : {};
  return (to, options) => https.request(to, { ...options, ...named });
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal });
}
