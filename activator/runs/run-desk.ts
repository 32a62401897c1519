/**
 * Where calls that may be asynchronous are looked at: refused with a reason, stored and answered
 * with 202, followed by a webhook, or handed on as ordinary requests. Also answers what became of
 * a run. Services that do not offer it never notice.
 */
import { createHash } from "node:crypto";
import type { RunRequest, ServiceKey } from "../../common/contracts/async-runs.ts";
import { RUNS_PATH } from "../../common/contracts/async-runs.ts";
import {
  PREFERENCE_APPLIED_HEADER,
  REQUEST_ID_HEADER,
  WEBHOOK_FORMAT_HEADER,
  WEBHOOK_SECRET_HEADER,
} from "../../common/contracts/headers.ts";
import type { AsyncConfig, RevisionConfig } from "../../common/contracts/routing.ts";
import type { WireReasonName } from "../../common/contracts/wire-reasons.ts";
import type { AcceptResult, RunStore } from "../../store/run-types.ts";
import { platformAnswer } from "../core/answers.ts";
import type { AsyncWish } from "../core/async-call.ts";
import { mayConcernRuns, readAsyncWish } from "../core/async-call.ts";
import { findHeader } from "../core/caller-headers.ts";
import { MOST_BODY_BYTES, withoutHeaders } from "../core/run-answer.ts";
import type { AddressGuard } from "../core/webhook-address.ts";
import { checkWebhookUrl } from "../core/webhook-address.ts";
import type { DispatchParts } from "../dispatch-parts.ts";
import type { DispatchRequest } from "../dispatch-request.ts";
import type { Revisions } from "../revisions.ts";
import type { AcceptedRuns } from "./accepted-runs.ts";
import { AnswerCopy } from "./answer-copy.ts";
import type { FollowUp } from "./follow-up.ts";
import { answerRunState } from "./run-state-page.ts";
import type { RunWorker } from "./run-worker.ts";

/** Bytes of bodies and answers that a service may have stored (bar: 256 MiB). */
const MOST_STORED_BYTES = 256 * 1_048_576;
/** Bodies that are read here at one time. */
const MOST_READING_BYTES = 128 * 1_048_576;
/** Between two looks for a configuration that is not there yet. */
const LOOK_AGAIN_MS = 250;
const OUR_HEADERS: ReadonlySet<string> = new Set([
  WEBHOOK_SECRET_HEADER,
  WEBHOOK_FORMAT_HEADER,
  "expect",
]);

export type RunCall = Pick<
  DispatchRequest,
  "exchange" | "caller" | "requestId" | "entry" | "receivedAt" | "head" | "observer"
>;

export interface DeskOptions {
  readonly store: RunStore;
  readonly accepted: AcceptedRuns;
  readonly worker: RunWorker;
  readonly followUp: FollowUp;
  readonly guard: AddressGuard;
  readonly revisions: Revisions;
  readonly parts: DispatchParts;
  readonly activatorId: string;
  readonly dispatch: (request: DispatchRequest) => void;
}

type Offer = RevisionConfig & { readonly async: AsyncConfig };
type Call = Extract<AsyncWish, { kind: "call" }>;

export class RunDesk {
  readonly #options: DeskOptions;
  #readingBytes = 0;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** A glance only; for the way of every request. */
  concerns({ exchange, caller }: Pick<RunCall, "exchange" | "caller">): boolean {
    return mayConcernRuns(exchange.head.target, caller);
  }

  receive(call: RunCall): void {
    const { config } = call.entry;
    if (config === null) return void this.#untilKnown(call);
    if (!isOffered(config)) return this.#options.dispatch(call);
    void this.#serve(call, config).catch((error: unknown) => {
      this.#options.parts.logger.error("asynchronous call failed", { error });
      if (call.exchange.pristine) this.#refuse(call, "store_unavailable", "");
    });
  }

  /** Whether the words are ours is known from the configuration only. */
  async #untilKnown(call: RunCall): Promise<void> {
    const { revisions } = this.#options;
    const { entry, exchange } = call;
    const loaded = await revisions.load(entry);
    if (exchange.clientGone) return;
    if (loaded !== "failed" && entry.config !== null) return this.receive(call);
    setTimeout(() => this.receive(call), LOOK_AGAIN_MS);
  }

  async #serve(call: RunCall, config: Offer): Promise<void> {
    const { exchange, caller } = call;
    const { head } = exchange;
    const service: ServiceKey = `${config.namespace}/${config.service}`;
    if (head.target.startsWith(RUNS_PATH)) {
      if (!(await this.#isAdmitted(call, config))) return;
      return answerRunState(this.#options.store, service, {
        call,
        wasAccepted: (id) => this.#options.accepted.wasAccepted(service, id),
      });
    }
    const wish = readAsyncWish(head, caller);
    if (wish.kind === "none") return this.#options.dispatch(call);
    if (wish.kind === "invalid") return this.#refuse(call, wish.reason, wish.message);
    if (wish.webhook !== "") {
      const { webhookHosts } = config.async;
      const checked = checkWebhookUrl(wish.webhook, webhookHosts, this.#options.guard);
      if (checked.kind === "refused") return this.#refuse(call, "invalid_webhook", checked.message);
    }
    if (!wish.isAsync) return this.#dispatchNow(call, { service, config, wish });
    if (await this.#isAdmitted(call, config)) this.#takeIn(call, { service, config, wish });
  }

  async #isAdmitted(call: RunCall, config: RevisionConfig): Promise<boolean> {
    // Before a byte of it is read: a run may not even be kept outside of the service's regions.
    const whyNotHere = this.#options.parts.spills?.whyNotHere(config) ?? "";
    if (whyNotHere !== "") {
      this.#refuse(call, "no_capacity", whyNotHere);
      return false;
    }
    if (config.auth !== "jwt") return true;
    const authorization = findHeader(call.exchange.head.headers, "authorization");
    const key = `${config.namespace}/${config.service}` as const;
    const refusal = await this.#options.parts.callerAuth.check(authorization, key);
    if (refusal === null) return !call.exchange.clientGone;
    this.#refuse(call, refusal.reason, "message" in refusal ? refusal.message : "");
    return false;
  }

  /** An ordinary request, whose answer goes to a webhook too where one is named. */
  #dispatchNow(call: RunCall, { service, config, wish }: Wanted): void {
    const { dispatch, followUp } = this.#options;
    const { exchange, caller, requestId } = call;
    const { head = exchange.head } = call;
    const headers = withoutHeaders(head.headers, OUR_HEADERS);
    const request = { ...call, head: { ...head, headers, target: wish.target } };
    if (wish.webhook === "") return dispatch(request);
    const target = webhookOf(config, wish);
    const secret = caller.webhookSecret;
    const follower = new AnswerCopy(MOST_BODY_BYTES, (answer) => {
      if (answer === null) return;
      const { metrics } = call.entry;
      followUp.send({ runId: requestId, service, target, secret, metrics, ...answer });
    });
    dispatch({ ...request, follower });
  }

  #takeIn(call: RunCall, wanted: Wanted): void {
    const { exchange } = call;
    const announced = Math.max(0, exchange.head.contentLength);
    const reserved = exchange.head.contentLength < 0 ? MOST_BODY_BYTES : announced;
    if (reserved <= MOST_BODY_BYTES && this.#readingBytes + reserved > MOST_READING_BYTES) {
      return this.#refuse(call, "queue_full", "");
    }
    this.#readingBytes += reserved;
    let isCounted = true;
    const settle = (): void => {
      if (isCounted) this.#readingBytes -= reserved;
      isCounted = false;
    };
    exchange.onClientGone(settle);
    exchange.collect(MOST_BODY_BYTES, (body) => {
      if (body === "too-large") {
        settle();
        const limit = `an asynchronous call has at most ${MOST_BODY_BYTES} bytes`;
        return this.#refuse(call, "body_too_large", limit);
      }
      void this.#accept(call, wanted, body).finally(settle);
    });
  }

  async #accept(call: RunCall, wanted: Wanted, body: Buffer): Promise<void> {
    const { store, activatorId: owner, parts } = this.#options;
    const { service, config, wish } = wanted;
    const { exchange, caller, requestId: id } = call;
    const request = runRequest(call, wanted);
    const headers = withoutHeaders(exchange.head.headers, OUR_HEADERS);
    const secrets = { headers, webhookSecret: caller.webhookSecret };
    try {
      const result = await store.accept(service, {
        owner,
        id,
        request,
        secrets,
        payload: body,
        mark: markOf(request, body),
        limitMs: config.async.maxDurationMs,
        repeatable: config.retry === "idempotent",
        mostOpen: Math.max(1, config.queueDepth),
        mostBytes: MOST_STORED_BYTES,
      });
      if (result.kind === "accepted") {
        this.#options.accepted.remember(service, id);
        this.#options.worker.adopt(service, { id, request }, { secrets, bodyBytes: body.length });
      }
      this.#answerAccepted(call, wish, result);
    } catch (error) {
      parts.logger.warn("run not accepted", { service, run: id, error });
      this.#refuse(call, "store_unavailable", "");
    }
  }

  #answerAccepted(call: RunCall, wish: Call, result: AcceptResult): void {
    const { exchange, requestId } = call;
    if (result.kind === "full") return this.#refuse(call, "queue_full", "");
    if (result.kind === "taken") {
      const message = `X-Request-Id ${requestId} belongs to another run`;
      return this.#refuse(call, "invalid_async", message);
    }
    if (!exchange.pristine) return;
    exchange.answer({
      status: 202,
      headers: [
        REQUEST_ID_HEADER,
        requestId,
        "content-type",
        "application/json",
        "location",
        RUNS_PATH + requestId,
        ...(wish.isPreferred ? [PREFERENCE_APPLIED_HEADER, "respond-async"] : []),
      ],
      body: `${JSON.stringify({ run_id: requestId })}\n`,
    });
  }

  #refuse(call: RunCall, reason: WireReasonName, message: string): void {
    const { exchange, caller, requestId, entry } = call;
    if (!exchange.pristine) return;
    entry.metrics.countError(reason);
    exchange.answer(
      platformAnswer({
        reason,
        message,
        requestId,
        accept: caller.accept,
        contentType: caller.contentType,
        retryAfterS: 1,
        headers: [REQUEST_ID_HEADER, requestId],
      }),
    );
  }
}

interface Wanted {
  readonly service: ServiceKey;
  readonly config: Offer;
  readonly wish: Call;
}

function isOffered(config: RevisionConfig): config is Offer {
  return config.async !== undefined;
}

function runRequest({ exchange, entry }: RunCall, { config, wish }: Wanted): RunRequest {
  const { method, host, httpVersion, remoteAddress } = exchange.head;
  return {
    revision: entry.key,
    host,
    method,
    target: wish.target,
    httpVersion,
    remoteAddress,
    runMs: config.async.maxDurationMs,
    webhook: wish.webhook === "" ? null : webhookOf(config, wish),
  };
}

function webhookOf(config: Offer, wish: Call): NonNullable<RunRequest["webhook"]> {
  return { url: wish.webhook, format: wish.format, hosts: config.async.webhookHosts };
}

/** The same id with another request is a mistake of the caller's. */
function markOf({ method, target }: RunRequest, body: Buffer): string {
  const hash = createHash("sha256").update(`${method}\n${target}\n`).update(body);
  return hash.digest("base64url");
}
