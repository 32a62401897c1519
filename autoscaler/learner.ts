/**
 * Learns from the call logs: profiles of cards, histories of stages, templates, and the alpha of each
 * revision that chooses by speed. Reads what is new every two seconds, writes what changed, and runs
 * the tuner in a thread of its own when there is a reason to.
 */
import type { Clock } from "../common/clock.ts";
import type { LoggedCall, LoggedSample } from "../common/contracts/call-log.ts";
import { decodeLogEntry } from "../common/contracts/call-log.ts";
import type { RevisionConfig, RevisionKey } from "../common/contracts/routing.ts";
import { meanOverPool, profileOf } from "../common/hexgen/call-estimate.ts";
import { roundHalfUp, serviceUs } from "../common/hexgen/cost.ts";
import { widenedBy } from "../common/hexgen/profile-fit.ts";
import type { AlphaChoice, RevisionKnowledge } from "../common/hexgen/knowledge.ts";
import { parseKnowledge } from "../common/hexgen/knowledge.ts";
import type { Logger } from "../foundation/logger.ts";
import type { KnowledgeStore } from "../store/knowledge.ts";
import { AlphaKeeper } from "./core/learning/alpha-keeper.ts";
import type { PoolFacts } from "./core/learning/alpha-keeper.ts";
import { ClassLearner } from "./core/learning/class-learner.ts";
import { RevisionLearner } from "./core/learning/revision-learner.ts";
import { observedTail, poolOf, windowOf } from "./core/learning/tuning-window.ts";
import type { Tuner } from "./tuner.ts";
import { tuningInput } from "./tuning-input.ts";

/** Entries read per revision and tick; a restart catches up within a minute. */
const PAGE = 2_000;
/** Workflows that a window must hold before it is worth a run. */
const LEAST_WINDOW = 10;

export interface LearnerOptions {
  readonly knowledge: KnowledgeStore;
  readonly tune: Tuner;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A revision as the controller knows it. */
export interface LearntRevision {
  readonly key: RevisionKey;
  readonly config: RevisionConfig;
  /** `auto`, or what the owner set. */
  readonly alpha: "auto" | number;
  /** Ready targets by card. */
  readonly pool: Readonly<Record<string, number>>;
  /** Last failure of a target, ms; 0 for none. */
  readonly lastFailureAt: number;
}

interface Learning {
  readonly learner: RevisionLearner;
  readonly keeper: AlphaKeeper;
  cursor: string;
  written: string;
  isTuning: boolean;
}

/** A change of alpha that the controller is to write into the revision's configuration. */
export type OnAlpha = (key: RevisionKey, choice: AlphaChoice) => void;

export class Learner {
  readonly #options: LearnerOptions;
  readonly #onAlpha: OnAlpha;
  readonly #revisions = new Map<RevisionKey, Learning>();
  readonly #classes = new Map<string, ClassLearner>();
  readonly #classTexts = new Map<string, string>();
  #isBusy = false;

  constructor(options: LearnerOptions, onAlpha: OnAlpha) {
    this.#options = options;
    this.#onAlpha = onAlpha;
  }

  /** The alpha in force, and since when; null while the initial one is. */
  alphaOf(key: RevisionKey): AlphaChoice | null {
    return this.#revisions.get(key)?.keeper.choice ?? null;
  }

  /** What is known of a revision, as last written. */
  knowledgeOf(key: RevisionKey): RevisionKnowledge | undefined {
    return parseKnowledge(this.#revisions.get(key)?.written ?? null);
  }

  /** One round over the revisions whose calls are ranked; a slow store makes the next one wait. */
  async tick(revisions: readonly LearntRevision[]): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (const revision of revisions) await this.#learn(revision);
      this.#forget(new Set(revisions.map(({ key }) => key)));
    } catch (error) {
      this.#options.logger.debug("nothing learnt this time", { error });
    } finally {
      this.#isBusy = false;
    }
  }

  async #learn(revision: LearntRevision): Promise<void> {
    const learning = await this.#learningOf(revision.key);
    const { knowledge } = this.#options;
    const page = await knowledge.readCalls(revision.key, learning.cursor, PAGE);
    learning.cursor = page.cursor;
    const { namespace } = revision.config;
    const classes = new Set<string>();
    for (const text of page.entries) {
      const entry = decodeLogEntry(text);
      if (entry === undefined) continue;
      if (entry.workflowClass !== "") classes.add(`${namespace}/${entry.workflowClass}`);
      this.#observe(learning, namespace, entry);
    }
    this.#tuneIfDue(revision, learning);
    await this.#write(revision, learning);
    for (const name of classes) await this.#writeClass(name, revision);
  }

  async #learningOf(key: RevisionKey): Promise<Learning> {
    const known = this.#revisions.get(key);
    if (known !== undefined) return known;
    // The choice of an earlier life holds on; all else is learnt again from the log.
    const before = parseKnowledge(await this.#options.knowledge.readKnowledge(key));
    const learner = new RevisionLearner();
    const keeper = new AlphaKeeper(before?.alpha ?? null);
    const made = { learner, keeper, cursor: "0", written: "", isTuning: false };
    this.#revisions.set(key, made);
    if (keeper.choice !== null) this.#onAlpha(key, keeper.choice);
    return made;
  }

  #observe(learning: Learning, namespace: string, entry: LoggedCall | LoggedSample): void {
    const ofClass = this.#classOf(namespace, entry.workflowClass);
    if (entry.kind === "sample") {
      learning.learner.observeSample(entry);
      ofClass?.observeSample(entry);
    } else {
      learning.learner.observeCall(entry);
      ofClass?.observeCall(entry);
    }
  }

  #classOf(namespace: string, name: string): ClassLearner | undefined {
    if (name === "") return undefined;
    const key = `${namespace}/${name}`;
    const known = this.#classes.get(key);
    if (known !== undefined || this.#classes.size >= MOST_CLASSES) return known;
    const made = new ClassLearner();
    this.#classes.set(key, made);
    return made;
  }

  async #write(revision: LearntRevision, learning: Learning): Promise<void> {
    const { learner, keeper } = learning;
    learner.alpha = keeper.choice;
    const text = JSON.stringify(learner.learnt(revision.pool));
    if (text === learning.written) return;
    await this.#options.knowledge.writeKnowledge(revision.key, text);
    learning.written = text;
  }

  /** Expected times are means over the pool of the revision that served the class last. */
  async #writeClass(name: string, revision: LearntRevision): Promise<void> {
    const learnt = this.#classes.get(name);
    const knowledge = this.knowledgeOf(revision.key);
    if (learnt === undefined || knowledge === undefined) return;
    const cards = this.#revisions.get(revision.key)?.learner.cards;
    const text = JSON.stringify(
      learnt.learnt((stage, inputTokens, outputTokens) =>
        expectedUs(knowledge, { inputTokens, outputTokens }, (card) =>
          widenedBy(cards?.get(card)?.errors().get(stage)),
        ),
      ),
    );
    if (text === this.#classTexts.get(name)) return;
    const [namespace = "", ...rest] = name.split("/");
    await this.#options.knowledge.writeClass(namespace, rest.join("/"), text);
    this.#classTexts.set(name, text);
  }

  #tuneIfDue(revision: LearntRevision, learning: Learning): void {
    const { keeper } = learning;
    if (revision.alpha !== "auto" || revision.config.policy !== "speed-aware") return;
    const now = this.#options.clock.now();
    const window = windowOf(learning.learner.calls, now * 1_000);
    const changedAtUs = (keeper.choice?.at ?? 0) * 1_000;
    const since = window.filter(({ arrivedAtUs }) => arrivedAtUs > changedAtUs);
    const facts: PoolFacts = {
      now,
      pool: JSON.stringify(revision.pool),
      lastFailureAt: revision.lastFailureAt,
      observedTail: observedTail(window),
      tailSinceChange: observedTail(since),
      workflowsSinceChange: since.length,
    };
    const undone = keeper.judge(facts);
    if (undone !== null) return this.#changed(revision.key, undone);
    if (learning.isTuning || window.length < LEAST_WINDOW) return;
    const trigger = keeper.trigger(facts);
    if (trigger !== undefined) void this.#tune(revision, learning, { window, facts, trigger });
  }

  async #tune(
    revision: LearntRevision,
    learning: Learning,
    run: {
      readonly window: ReturnType<typeof windowOf>;
      readonly facts: PoolFacts;
      readonly trigger: Parameters<AlphaKeeper["tuned"]>[2];
    },
  ): Promise<void> {
    const { keeper, learner } = learning;
    const { clock, logger, tune } = this.#options;
    const input = tuningInput({
      window: run.window,
      pool: poolOf(learner.learnt(revision.pool)),
      known: this.#knownClass(revision, run.window),
      order: revision.config.queueOrder,
      binding: revision.config.binding ?? "late",
      currentAlpha: keeper.alpha,
    });
    if (input === null) return;
    learning.isTuning = true;
    const startedAt = clock.now();
    try {
      const result = await tune(input);
      const { key } = revision;
      const tookMs = Math.round(clock.now() - startedAt);
      logger.info("alpha tuned", { key, alpha: result.alpha, trigger: run.trigger, tookMs });
      const now = clock.now();
      const { observedTail: tail } = run.facts;
      const facts = { now, window: run.window.length, observedTail: tail };
      const choice = keeper.tuned(result, facts, run.trigger);
      if (choice !== null) this.#changed(key, choice);
    } catch (error) {
      logger.warn("alpha not tuned", { key: revision.key, error });
    } finally {
      learning.isTuning = false;
    }
  }

  #knownClass(
    revision: LearntRevision,
    window: ReturnType<typeof windowOf>,
  ): ReturnType<ClassLearner["learnt"]> | undefined {
    const name = window.at(-1)?.workflowClass ?? "";
    const learnt = this.#classes.get(`${revision.config.namespace}/${name}`);
    return learnt?.learnt(() => 0);
  }

  #changed(key: RevisionKey, choice: AlphaChoice): void {
    const { alpha, version, reason, previous } = choice;
    this.#options.logger.info("alpha changed", { key, alpha, version, reason, previous });
    this.#onAlpha(key, choice);
  }

  #forget(present: ReadonlySet<RevisionKey>): void {
    for (const key of this.#revisions.keys()) if (!present.has(key)) this.#revisions.delete(key);
  }
}

/** Names of classes come from callers. */
const MOST_CLASSES = 256;

/** Time of a call of that size, mean over the pool; 0 while no card of it is known. */
function expectedUs(
  knowledge: RevisionKnowledge,
  size: { readonly inputTokens: number; readonly outputTokens: number },
  factorOn: (card: string) => number,
): number {
  const workUs = new Map<string, number>();
  for (const card of Object.keys(knowledge.pool)) {
    const profile = profileOf(knowledge, card);
    if (profile === undefined) continue;
    const us = serviceUs(profile, { ...size, cachedTokens: 0 });
    workUs.set(card, roundHalfUp(us * factorOn(card)));
  }
  return meanOverPool(workUs, knowledge.pool);
}
