/**
 * The autoscaler as a part of a process: wakes, ticks and changes come in, revisions are reconciled
 * one key at a time each, replica counts and statuses go out. One process acts at a time; whoever
 * starts a second one must hold it back until the first has gone.
 */
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Random } from "../common/random.ts";
import type { EventEmitter } from "../foundation/events.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RoutingStore, StoreSubscriber } from "../store/types.ts";
import { GATHER_MS } from "./core/from-zero.ts";
import type { ClusterDefaults } from "./core/settings/defaults.ts";
import type { DecisionRecord, Trigger } from "./decision-log.ts";
import { Learner } from "./learner.ts";
import type { LearnerOptions, LearntRevision } from "./learner.ts";
import type { CellScaling } from "./cell-scaling.ts";
import { createOrphanSweep } from "./orphans.ts";
import type {
  EntranceSink,
  ObjectSource,
  ResourceUseSource,
  ScaleTarget,
  StatusSink,
} from "./ports.ts";
import { scaleEvents } from "./pod-watch.ts";
import { reconcile } from "./reconciler.ts";
import type { ReconcilerOptions } from "./reconciler.ts";
import { isAtRest, loadMemory } from "./revision-memory.ts";
import type { RevisionMemory } from "./revision-memory.ts";
import { systemTimers } from "./timers.ts";
import type { CancelTimer, Timers } from "./timers.ts";
import { createScalingTotals } from "./totals.ts";
import { viewOf } from "./view.ts";
import type { AutoscalerView } from "./view.ts";
import { WorkQueue } from "./work-queue.ts";

export interface AutoscalerOptions {
  readonly store: RoutingStore;
  readonly subscriber: StoreSubscriber;
  readonly objects: ObjectSource;
  readonly scale: ScaleTarget;
  readonly status: StatusSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly defaults: ClusterDefaults;
  /** Use of cpu and memory, for the metrics of that name. */
  readonly metricsSource?: ResourceUseSource;
  /** Told how many activators serve each revision, where others lead requests to them. */
  readonly entrance?: EntranceSink;
  /** Told of each change of a scale and of what becomes of pods; see common/contracts/events.ts. */
  readonly events?: Pick<EventEmitter, "emit">;
  /** Where calls are logged, and what tunes alpha; absent: nothing is learnt. */
  readonly learning?: Pick<LearnerOptions, "knowledge" | "tune">;
  readonly timers?: Timers;
  /** Revisions that this controller decides; others are left alone. Default: all. */
  readonly owns?: (key: RevisionKey) => boolean;
  /** Bounds over several cells; absent: there is one. Its changes make revisions be decided anew. */
  readonly cellScaling?: CellScaling;
  /** Asked right before each write; false: another process leads. Default: always. */
  readonly mayAct?: () => boolean;
}

/** Started once; a process that leads again makes a new one. */
export interface Autoscaler {
  start(): Promise<void>;
  /** Ends what runs and writes nothing more; pods and counts stay as they are. */
  stop(): Promise<void>;
  view(): AutoscalerView;
  /** Revisions that wait for a reconcile or are in one; 0 when all is settled. */
  busy(): number;
  /** Decisions of the last hour, oldest first. */
  decisions(key: RevisionKey): readonly DecisionRecord[];
  /** Calls for each decision, also one that changes nothing; answers the function that ends that. */
  onDecision(listener: (record: DecisionRecord) => void): () => void;
  /** What was learnt of cards and alpha; null where nothing is. */
  readonly learner: Learner | null;
  /** New cluster defaults, e.g. after a change of a ConfigMap; all revisions are looked at. */
  useDefaults(defaults: ClusterDefaults): void;
}

export const TICK_MS = 2_000;
/** Thousands of idle revisions must not cost what busy ones do. */
const REST_TICK_MS = 10_000;
const RESYNC_MS = 5_000;
const VERIFY_MS = 30_000;
const ORPHANS_MS = 30_000;
/** With a wake per queued request, one look per this time is enough once a first one was had. */
const WAKE_SPACING_MS = 100;
const CONCURRENCY = 128;

export function createAutoscaler(options: AutoscalerOptions): Autoscaler {
  return new Controller(options);
}

class Controller implements Autoscaler {
  readonly #options: AutoscalerOptions;
  readonly #timers: Timers;
  readonly #memories = new Map<RevisionKey, RevisionMemory>();
  readonly #triggers = new Map<RevisionKey, Trigger>();
  readonly #totals = createScalingTotals();
  readonly #queue: WorkQueue<RevisionKey>;
  readonly #reconcilerOptions: ReconcilerOptions;
  readonly #cancels = new Set<CancelTimer>();
  readonly #listeners = new Set<(record: DecisionRecord) => void>();
  readonly learner: Learner | null;
  #defaults: ClusterDefaults;
  #running = false;
  #tickStartedAt = 0;

  constructor(options: AutoscalerOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#defaults = options.defaults;
    this.learner = this.#createLearner();
    this.#reconcilerOptions = {
      ...options,
      defaults: () => this.#defaults,
      onDecision: (record) => this.#onDecision(record),
      onEvent: (event) => options.events?.emit(event),
    };
    this.#queue = new WorkQueue({
      timers: this.#timers,
      random: options.random,
      logger: options.logger,
      concurrency: CONCURRENCY,
      run: (key) => (this.#mayAct() ? this.#reconcile(key) : Promise.resolve()),
    });
  }

  #createLearner(): Learner | null {
    const { learning, clock, logger } = this.#options;
    if (learning === undefined) return null;
    return new Learner({ ...learning, clock, logger }, (key, { alpha }) => {
      const memory = this.#memories.get(key);
      if (memory === undefined || memory.tunedAlpha === alpha) return;
      memory.tunedAlpha = alpha;
      this.#now(key, "object");
    });
  }

  start(): Promise<void> {
    if (this.#running) return Promise.resolve();
    this.#running = true;
    const { subscriber, objects, scale } = this.#options;
    subscriber.onWake((key) => this.#onWake(key));
    subscriber.onResubscribed(() => this.#all("resync"));
    objects.onChange((key) => this.#now(key, "object"));
    scale.onPodsChanged((key) => this.#now(key, "pods"));
    this.#options.cellScaling?.onShareChanged((key) => this.#now(key, "object"));
    const sweep = createOrphanSweep({ ...this.#options, owns: (key) => this.#owns(key) });
    this.#every(TICK_MS, () => this.#tick());
    this.#every(TICK_MS, () => void this.#learn());
    this.#every(RESYNC_MS, () => void this.#resync());
    this.#every(VERIFY_MS, () => this.#verify());
    this.#every(ORPHANS_MS, () => void sweep());
    this.#all("resync");
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#running = false;
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
    await this.#queue.stop();
  }

  view(): AutoscalerView {
    return viewOf(this.#memories, {
      totals: this.#totals.read(),
      queueDepth: this.#queue.depth,
      failing: this.#queue.failing,
      at: this.#options.clock.now(),
    });
  }

  busy(): number {
    return this.#queue.busy;
  }

  decisions(key: RevisionKey): readonly DecisionRecord[] {
    return this.#memories.get(key)?.log.records ?? [];
  }

  onDecision(listener: (record: DecisionRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  useDefaults(defaults: ClusterDefaults): void {
    this.#defaults = defaults;
    this.#all("object");
  }

  /** Repeats without drift towards a burst: the next one is set when this one has run. */
  #every(periodMs: number, run: () => void): void {
    const arm = (): void => {
      const cancel = this.#timers.after(periodMs, () => {
        this.#cancels.delete(cancel);
        if (!this.#running) return;
        run();
        arm();
      });
      this.#cancels.add(cancel);
    };
    arm();
  }

  #tick(): void {
    this.#tickStartedAt = this.#options.clock.now();
    for (const { key } of this.#options.objects.list()) {
      if (!this.#owns(key) || this.#restsUntil(key) > this.#tickStartedAt) continue;
      this.#note(key, "tick");
      this.#queue.offer(key);
    }
  }

  async #learn(): Promise<void> {
    if (this.learner === null || !this.#mayAct()) return;
    const learnt = [...this.#memories.values()].flatMap((memory) => rankedRevision(memory));
    await this.learner.tick(learnt);
    for (const { key } of learnt) {
      const memory = this.#memories.get(key);
      const cards = Object.values(this.learner.knowledgeOf(key)?.cards ?? {});
      const errors = cards.map(({ error }) => error);
      if (memory === undefined || errors.length === 0) continue;
      memory.estimateError = Math.max(...errors);
      memory.stagesOff = new Set(
        cards.flatMap(({ stagesOff = {} }) => Object.keys(stagesOff)),
      ).size;
    }
  }

  /** A revision at zero without demand is woken by its next request; ticks only make sure. */
  #restsUntil(key: RevisionKey): number {
    const memory = this.#memories.get(key);
    if (memory === undefined || !isAtRest(memory)) return 0;
    return memory.reconciledAtMs + REST_TICK_MS - TICK_MS / 2;
  }

  /** One look at the list of revisions that the store knows finds a lost store for all of them. */
  async #resync(): Promise<void> {
    for (const key of this.#memories.keys()) {
      if (this.#options.objects.get(key) === undefined) this.#now(key, "resync");
    }
    try {
      const known = new Set(await this.#options.store.listRevisions());
      for (const memory of this.#memories.values()) {
        if (memory.config === null || known.has(memory.key)) continue;
        memory.config = null;
        this.#now(memory.key, "resync");
      }
    } catch (error) {
      this.#options.logger.warn("resync failed", { error });
    }
  }

  /** A store may also lose a part of its keys: each configuration is read back now and then. */
  #verify(): void {
    for (const memory of this.#memories.values()) memory.verifyConfig = true;
  }

  #all(trigger: Trigger): void {
    this.#verify();
    for (const { key } of this.#options.objects.list()) this.#now(key, trigger);
  }

  #mayAct(): boolean {
    return this.#options.mayAct?.() ?? true;
  }

  #owns(key: RevisionKey): boolean {
    return this.#options.owns?.(key) ?? true;
  }

  #now(key: RevisionKey, trigger: Trigger): void {
    if (!this.#running || !this.#owns(key)) return;
    this.#note(key, trigger);
    this.#queue.add(key);
  }

  /** First requests come within a few ms of each other: gather them, then read the right number. */
  #onWake(key: RevisionKey): void {
    if (!this.#running || !this.#owns(key)) return;
    const now = this.#options.clock.now();
    const last = this.#memories.get(key)?.lastWakeAtMs ?? Number.NEGATIVE_INFINITY;
    this.#note(key, "wake");
    this.#queue.addAfter(key, Math.max(GATHER_MS, last + WAKE_SPACING_MS - now));
  }

  /** The most telling trigger since the last reconcile names the decision. */
  #note(key: RevisionKey, trigger: Trigger): void {
    const noted = this.#triggers.get(key);
    if (noted === undefined || noted === "tick" || noted === "resync") {
      this.#triggers.set(key, trigger);
    }
  }

  async #reconcile(key: RevisionKey): Promise<void> {
    const revision = this.#options.objects.get(key);
    if (revision === undefined) return this.#remove(key);
    let memory = this.#memories.get(key);
    if (memory === undefined) {
      memory = await loadMemory(this.#options.store, key);
      this.#memories.set(key, memory);
    }
    memory.trigger = this.#triggers.get(key) ?? "ageing";
    this.#triggers.delete(key);
    if (memory.trigger === "wake") memory.lastWakeAtMs = this.#options.clock.now();
    try {
      const comeBackInMs = await reconcile(this.#reconcilerOptions, revision, memory);
      if (comeBackInMs !== null && comeBackInMs < TICK_MS) this.#queue.addAfter(key, comeBackInMs);
    } catch (error) {
      // The store may have forgotten the revision: ask before the next attempt.
      memory.verifyConfig = true;
      throw error;
    }
    memory.reconciledAtMs = this.#options.clock.now();
    if (memory.trigger === "tick") {
      this.#totals.tickTook(memory.reconciledAtMs - this.#tickStartedAt);
    }
  }

  async #remove(key: RevisionKey): Promise<void> {
    this.#options.cellScaling?.removed(key);
    this.#memories.delete(key);
    this.#triggers.delete(key);
    await this.#options.store.removeRevision(key);
    this.#queue.forget(key);
  }

  #onDecision(record: DecisionRecord): void {
    this.#totals.decided(record);
    for (const listener of this.#listeners) listener(record);
    for (const event of scaleEvents(record)) this.#options.events?.emit(event);
  }
}

/** Calls are logged where they are ranked; elsewhere there is nothing to learn from. */
function rankedRevision(memory: RevisionMemory): LearntRevision[] {
  const { key, config, settings, cards: pool, lastFailureAtMs: lastFailureAt } = memory;
  if (config === null || settings === null) return [];
  const isRanked =
    config.policy === "speed-aware" || config.queueOrder !== "fifo" || config.binding === "early";
  return isRanked ? [{ key, config, alpha: settings.settings.alpha, pool, lastFailureAt }] : [];
}
