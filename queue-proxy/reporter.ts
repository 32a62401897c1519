/**
 * Tells an activator about this pod: the whole state at each connect, changes at once, heartbeats
 * in between, one push at a time so that order is kept. Any activator will do; one of those that
 * serve the revision is preferred, and a lost one is replaced by the next.
 */
import type { Clock } from "../common/clock.ts";
import type { PushKind, PushReply, PushReport } from "../common/contracts/push.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import { ActivatorChoice } from "./activator-choice.ts";
import type { ActivatorDirectory, Endpoint } from "./activator-directory.ts";
import type { PushOutcome } from "./push-connection.ts";
import { PushConnection } from "./push-connection.ts";
import { Wake } from "./wake.ts";

/** What a report says of the pod; number, order and answers are the reporter's. */
export type PodSnapshot = Omit<PushReport, "kind" | "boot" | "sequence" | "asked" | "running">;

export interface ReporterParts {
  readonly directory: ActivatorDirectory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly token: () => string | undefined;
  /** Source address of the connection. */
  readonly localAddress: string;
  readonly revision: string;
  readonly podName: string;
  /** Number of this life, larger than any earlier one as far as known here. */
  readonly boot: number;
  readonly snapshot: () => PodSnapshot;
  readonly stillRunning: (leaseIds: readonly string[]) => string[];
  readonly onReply: (reply: PushReply) => void;
}

const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;
/** An activator that says nothing for this long is as good as gone; a store that fails over is not. */
const PUSH_TIMEOUT_MS = 2_000;
const GOODBYE_MS = 500;
const FIRST_HEARTBEAT_MS = 1_000;

export class Reporter {
  readonly #parts: ReporterParts;
  readonly #wake = new Wake();
  #boot: number;
  #sequence = 0;
  #heartbeatMs = FIRST_HEARTBEAT_MS;
  #isDirty = false;
  #asked: readonly string[] = [];
  #isStopping = false;
  #unreachableSinceAt: number | undefined;
  #connection: PushConnection | undefined;
  readonly #choice: ActivatorChoice;
  #loop: Promise<void> = Promise.resolve();

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    this.#boot = parts.boot;
    const { revision, podName: pod } = parts;
    this.#choice = new ActivatorChoice({ ...parts, revision, pod });
  }

  /** Since when no activator takes pushes; undefined while one does. */
  get unreachableSinceAt(): number | undefined {
    return this.#unreachableSinceAt;
  }

  get boot(): number {
    return this.#boot;
  }

  start(): void {
    this.#parts.directory.watch(() => {
      this.#choice.lookNow();
      this.#wake.signal();
    });
    this.#loop = this.#run();
  }

  /** Something that routing must know has changed. */
  changed(): void {
    this.#isDirty = true;
    this.#wake.signal();
  }

  /** Says goodbye where somebody listens, and stops. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wake.signal();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, GOODBYE_MS);
    });
    await Promise.race([this.#loop, late]);
    clearTimeout(timer);
    this.#connection?.close();
    this.#parts.directory.stop();
  }

  async #run(): Promise<void> {
    let failedRounds = 0;
    while (!this.#isStopping) {
      const connection = await this.#connect();
      if (connection === undefined) {
        this.#unreachableSinceAt ??= this.#parts.clock.now();
        failedRounds += 1;
        await this.#wake.wait(this.#retryMs(failedRounds));
        continue;
      }
      failedRounds = 0;
      const connectedAt = this.#parts.clock.now();
      await this.#serve(connection);
      if (!this.#isStopping && this.#parts.clock.now() - connectedAt < RETRY_MIN_MS) {
        // It takes connections only to close them: no busy loop of greetings.
        this.#wake.clear();
        await this.#wake.wait(RETRY_MIN_MS);
      }
    }
    if (this.#connection !== undefined) await this.#send(this.#connection, "goodbye");
  }

  /** Tries every activator once, those that failed lately at the end. */
  async #connect(): Promise<PushConnection | undefined> {
    for (const endpoint of await this.#choice.inTurn()) {
      if (this.#isStopping) return undefined;
      const connection = await this.#greet(endpoint);
      if (connection === undefined) continue;
      this.#unreachableSinceAt = undefined;
      return connection;
    }
    return undefined;
  }

  async #greet(endpoint: Endpoint): Promise<PushConnection | undefined> {
    const connection: PushConnection = new PushConnection({
      endpoint,
      localAddress: this.#parts.localAddress,
      timeoutMs: PUSH_TIMEOUT_MS,
      // One that never served wakes nobody: the pause between two rounds would be none.
      onClosed: () => {
        if (this.#connection === connection) this.#wake.signal();
      },
    });
    await connection.open();
    if (await this.#send(connection, "hello")) {
      this.#connection = connection;
      return connection;
    }
    this.#choice.failed(endpoint);
    connection.close();
    return undefined;
  }

  /** The new one first, so that no moment is without one; the old one where it takes no pushes. */
  async #move(connection: PushConnection): Promise<PushConnection> {
    const endpoint = await this.#choice.better(connection.endpoint);
    if (endpoint === undefined || this.#isStopping) return connection;
    const next = await this.#greet(endpoint);
    if (next === undefined) {
      // What the greeting carried is still to be told here.
      this.changed();
      return connection;
    }
    connection.close();
    return next;
  }

  /** Until the connection is of no more use, or the process ends. */
  async #serve(first: PushConnection): Promise<void> {
    let connection = first;
    let beatAt = this.#parts.clock.now() + this.#heartbeatMs;
    while (!this.#isStopping && !connection.isClosed) {
      if (this.#parts.clock.now() >= this.#choice.lookAt) connection = await this.#move(connection);
      const now = this.#parts.clock.now();
      if (this.#hasNews || now >= beatAt) {
        if (!(await this.#send(connection, this.#hasNews ? "change" : "heartbeat"))) break;
        beatAt = this.#parts.clock.now() + this.#heartbeatMs;
      } else {
        await this.#wake.wait(Math.min(beatAt, this.#choice.lookAt) - now);
      }
    }
    // The goodbye goes over this connection.
    if (this.#isStopping && !connection.isClosed) return;
    this.#choice.failed(connection.endpoint);
    connection.close();
    this.#connection = undefined;
  }

  get #hasNews(): boolean {
    return this.#isDirty || this.#asked.length > 0;
  }

  /** One push; false when the connection is of no more use. */
  async #send(connection: PushConnection, kind: PushKind): Promise<boolean> {
    const token = this.#parts.token();
    if (token === undefined) return false;
    this.#isDirty = false;
    this.#sequence += 1;
    const asked = this.#asked;
    this.#asked = [];
    const outcome = await connection.send(
      {
        kind,
        ...this.#parts.snapshot(),
        boot: this.#boot,
        sequence: this.#sequence,
        asked,
        running: this.#parts.stillRunning(asked),
      },
      token,
    );
    if (outcome.kind === "reply") {
      this.#take(outcome.reply);
      return true;
    }
    this.#logFailure(connection.endpoint, outcome);
    return false;
  }

  #take(reply: PushReply): void {
    this.#heartbeatMs = Math.max(1, reply.heartbeatMs);
    this.#asked = reply.ask;
    this.#choice.learn(reply.activators);
    if (this.#isFromAnotherLife(reply)) {
      this.#parts.logger.warn("a later boot number is on record, drawing a higher one", {
        boot: this.#boot,
        onRecord: reply.ackBoot,
      });
      this.#boot = reply.ackBoot + 1;
      this.#sequence = 0;
      this.#isDirty = true;
    }
    this.#parts.onReply(reply);
  }

  #isFromAnotherLife(reply: PushReply): boolean {
    if (reply.ackBoot > this.#boot) return true;
    return reply.ackBoot === this.#boot && reply.ackSequence > this.#sequence;
  }

  #retryMs(failedRounds: number): number {
    const ceiling = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failedRounds, 10));
    return RETRY_MIN_MS + this.#parts.random() * (ceiling - RETRY_MIN_MS);
  }

  #logFailure(endpoint: Endpoint, outcome: Exclude<PushOutcome, { kind: "reply" }>): void {
    this.#parts.logger.warn("push failed", {
      activator: `${endpoint.host}:${endpoint.port}`,
      ...(outcome.kind === "refused" ? { status: outcome.status } : {}),
      detail: outcome.message,
    });
  }
}
