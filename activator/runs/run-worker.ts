/**
 * The asynchronous runs of this activator: makes each one as an ordinary request, stores how it
 * ended, delivers its answer, and once a second renews its hold on them and takes over what
 * nobody holds any more.
 */
import type {
  AnswerFacts,
  RunRecord,
  RunSecrets,
  ServiceKey,
} from "../../common/contracts/async-runs.ts";
import type { Random } from "../../common/random.ts";
import type { Upstream } from "../../proxy/upstream.ts";
import type { RunStore } from "../../store/run-types.ts";
import { readCallerHeaders } from "../core/caller-headers.ts";
import {
  KEPT_MS,
  MOST_BODY_BYTES,
  MOST_KEPT_BYTES,
  judgeRun,
  keptHeaders,
} from "../core/run-answer.ts";
import type { Delivery } from "../core/webhook-delivery.ts";
import type { DispatchParts } from "../dispatch-parts.ts";
import { Dispatch } from "../dispatch.ts";
import type { Revisions } from "../revisions.ts";
import { RunExchange } from "./run-exchange.ts";
import type { RunEnd } from "./run-exchange.ts";
import type { WebhookSender } from "./webhook-sender.ts";

const BEAT_MS = 1_000;
/** Services looked at in one beat; more take turns. */
const MOST_SERVICES = 200;
/** Runs taken over of one service in one beat. */
const MOST_TAKEN = 32;
/** A refused run waits for 1 to 3 s before somebody tries it again. */
const PARK_MS = 1_000;
const PARK_JITTER_MS = 2_000;
/** Between two tries to tell the store how a run ended. */
const TELL_AGAIN_MS = 500;

export interface WorkerOptions {
  readonly store: RunStore;
  readonly parts: DispatchParts;
  readonly revisions: Revisions;
  readonly upstream: Upstream;
  readonly sender: WebhookSender;
  readonly activatorId: string;
  readonly random: Random;
}

export type AcceptedRun = Pick<RunRecord, "id" | "request">;

/** A run that is held here. */
interface HeldRun {
  readonly service: ServiceKey;
  readonly record: AcceptedRun;
  /** Undefined once it has ended and is only delivered. */
  exchange: RunExchange | undefined;
  /** It was told to the store that a pod sees it. */
  hasStarted: boolean;
}

/** What an adopted run needs beside its record. */
interface RunInput {
  readonly secrets: RunSecrets;
  readonly bodyBytes: number;
}

export class RunWorker {
  readonly #options: WorkerOptions;
  readonly #held = new Map<string, HeldRun>();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isBeating = false;
  #turn = 0;
  #isDraining = false;
  #onIdle: () => void = () => {};

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Runs held here, those that are only delivered included. */
  get size(): number {
    return this.#held.size;
  }

  start(): void {
    this.#timer = setInterval(() => void this.beat(), BEAT_MS);
  }

  /** Makes a run that this activator has accepted. */
  adopt(service: ServiceKey, record: AcceptedRun, input: RunInput): void {
    if (this.#held.has(record.id)) return;
    const held: HeldRun = { service, record, exchange: undefined, hasStarted: false };
    this.#held.set(record.id, held);
    this.#begin(held, input);
  }

  async beat(): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    try {
      for (const service of await this.#servicesOfBeat()) await this.#claim(service);
    } catch {
      // The store is away; what is held here stays held for the length of a lease, and is asked
      // for again before anything is delivered.
    } finally {
      this.#isBeating = false;
    }
  }

  /** Gives back what waits; resolves when what runs has ended and is delivered. */
  drain(): Promise<void> {
    this.#isDraining = true;
    for (const held of this.#held.values()) {
      if (held.exchange !== undefined && !held.hasStarted) this.#giveBack(held, 0);
    }
    if (this.#held.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop.abort();
    for (const { exchange } of this.#held.values()) exchange?.abandon();
    this.#held.clear();
  }

  /** Those with runs here always, the others in turns. */
  async #servicesOfBeat(): Promise<readonly ServiceKey[]> {
    const own = new Set([...this.#held.values()].map(({ service }) => service));
    const known = (await this.#options.store.services()).toSorted();
    const others = known.filter((service) => !own.has(service));
    const from = others.length === 0 ? 0 : this.#turn % others.length;
    this.#turn += MOST_SERVICES;
    const turned = [...others.slice(from), ...others.slice(0, from)].slice(0, MOST_SERVICES);
    return [...own, ...turned];
  }

  async #claim(service: ServiceKey): Promise<void> {
    const { store, activatorId: owner } = this.#options;
    const most = this.#isDraining ? 0 : MOST_TAKEN;
    const { kept, taken } = await store.claim(service, { owner, most, keptMs: KEPT_MS });
    if (kept === 0) await store.forgetService(service);
    for (const record of taken) await this.#takeOver(service, record);
  }

  async #takeOver(service: ServiceKey, record: RunRecord): Promise<void> {
    if (this.#held.has(record.id)) return;
    const { store, parts } = this.#options;
    const secrets = await store.readSecrets(service, record.id);
    parts.logger.info("run taken over", { service, run: record.id, state: record.state });
    if (record.endedAt === 0) {
      // Kept as base64, which is a third longer.
      const body = await store.readPayload(service, record.id);
      const input = { secrets: secrets ?? NO_SECRETS, bodyBytes: body.length };
      return this.adopt(service, record, input);
    }
    const held: HeldRun = { service, record, exchange: undefined, hasStarted: true };
    this.#held.set(record.id, held);
    const body = await store.readPayload(service, record.id);
    this.#deliver(held, secrets ?? NO_SECRETS, {
      status: record.status,
      answer: record.answer ?? NO_ANSWER,
      body,
      endedAt: record.endedAt,
    });
  }

  #begin(held: HeldRun, { secrets, bodyBytes }: RunInput): void {
    const { store, parts, revisions, upstream, activatorId: owner } = this.#options;
    const { service, record } = held;
    const { id, request } = record;
    const exchange = new RunExchange({
      request,
      headers: secrets.headers,
      upstream,
      bodyBytes,
      mostAnswerBytes: request.webhook === null ? MOST_KEPT_BYTES : MOST_BODY_BYTES,
      start: () => {
        held.hasStarted = true;
        return store.start(service, { owner, id });
      },
      onUndelivered: () => {
        held.hasStarted = false;
        void this.#tell(() => store.giveBack(service, { owner, id, pauseMs: -1 }));
      },
      onEnd: (end) => void this.#ended(held, secrets, end),
      onLost: (why) => {
        if (why === "taken-over") this.#drop(held);
        else this.#giveBack(held, this.#parkMs());
      },
    });
    held.exchange = exchange;
    const entry = revisions.use(request.revision);
    const observer = parts.observing?.follow(exchange.head, entry);
    const head = observer?.head ?? exchange.head;
    new Dispatch(parts, {
      exchange,
      entry,
      head,
      ...(observer === undefined ? {} : { observer }),
      caller: readCallerHeaders(secrets.headers),
      requestId: id,
      receivedAt: parts.clock.now(),
      run: { limitMs: request.runMs },
    }).begin();
  }

  async #ended(held: HeldRun, secrets: RunSecrets, end: RunEnd): Promise<void> {
    const { service, record } = held;
    const { store, parts, revisions, activatorId: owner } = this.#options;
    const verdict = judgeRun(end.status, end.headers);
    if (verdict === "wait") return this.#giveBack(held, this.#parkMs());
    const status = end.status === 0 ? BROKEN_STATUS : end.status;
    const answer: AnswerFacts = { headers: keptHeaders(end.headers), omitted: end.tooLarge };
    const isDelivered = record.request.webhook !== null;
    const kept = await this.#tell(() =>
      store.finish(service, {
        owner,
        id: record.id,
        state: verdict,
        status,
        answer,
        payload: end.body,
        deliver: isDelivered,
        keptMs: KEPT_MS,
      }),
    );
    if (kept !== true) return this.#drop(held);
    revisions.find(record.request.revision)?.metrics.countRun(verdict);
    if (!isDelivered) return this.#drop(held);
    held.exchange = undefined;
    const endedAt = parts.clock.now();
    this.#deliver(held, secrets, { status, answer, body: end.body, endedAt });
  }

  #deliver(
    held: HeldRun,
    secrets: RunSecrets,
    end: Pick<Delivery, "status" | "answer" | "body" | "endedAt">,
  ): void {
    const { service, record } = held;
    const { store, sender, revisions, activatorId: owner } = this.#options;
    const target = record.request.webhook;
    if (target === null) return this.#drop(held);
    const { webhookSecret: secret } = secrets;
    const delivery: Delivery = { ...end, runId: record.id, service, target, secret };
    const settled = sender.send(delivery, this.#stop.signal).then(({ outcome, tries }) => {
      revisions.find(record.request.revision)?.metrics.countDelivery(outcome);
      const settle = { owner, id: record.id, delivery: outcome, tries };
      return this.#tell(() =>
        store.settle(service, { ...settle, mostBytes: KEPT_BASE64, keptMs: KEPT_MS }),
      );
    });
    // Stopped in the middle: another activator delivers it.
    settled.catch(() => undefined).finally(() => this.#drop(held));
  }

  #giveBack(held: HeldRun, pauseMs: number): void {
    const { store, activatorId: owner } = this.#options;
    const { service, record, exchange } = held;
    exchange?.abandon();
    this.#drop(held);
    void this.#tell(() => store.giveBack(service, { owner, id: record.id, pauseMs }));
  }

  #parkMs(): number {
    return PARK_MS + this.#options.random() * PARK_JITTER_MS;
  }

  /** Until the store has heard it, or this process ends; undefined then. */
  async #tell<T>(say: () => Promise<T>): Promise<T | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await say();
      } catch (error) {
        this.#options.parts.logger.warn("run not stored yet", { error });
        await pause(TELL_AGAIN_MS, this.#stop.signal);
      }
    }
    return undefined;
  }

  #drop(held: HeldRun): void {
    if (this.#held.get(held.record.id) === held) this.#held.delete(held.record.id);
    if (this.#isDraining && this.#held.size === 0) this.#onIdle();
  }
}

/** A run whose answer broke off failed as a bad gateway would. */
const BROKEN_STATUS = 502;
const KEPT_BASE64 = Math.ceil(MOST_KEPT_BYTES / 3) * 4;
const NO_SECRETS: RunSecrets = { headers: [], webhookSecret: "" };
const NO_ANSWER: AnswerFacts = { headers: [], omitted: false };

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });
}
