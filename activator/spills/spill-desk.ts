/**
 * Where a request that finds no free slot here is weighed against the other cells, and what runs
 * there. Chooses from the local snapshot, counts what it sends, and takes back what is still
 * undelivered when a cell is lost.
 */
import type { Random } from "../../common/random.ts";
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import { chooseCell, explainChoice } from "../../cells/core/choose-cell.ts";
import type { CellChoice } from "../../cells/core/choose-cell.ts";
import { allows, parseRegions, spansCells } from "../../cells/core/regions.ts";
import type { CellNode } from "../../cells/node.ts";
import { serviceOf } from "../../cells/own-digests.ts";
import type { Dialer } from "../../proxy/types.ts";
import type { WaitClock } from "../core/deadlines.ts";
import { NO_RANK } from "../core/hop.ts";
import type { RevisionEntry } from "../revision-entry.ts";
import type { Look } from "../ticket.ts";
import { ChoiceLog } from "./choice-log.ts";
import type { Spill, SpillOutcome, SpillPlan } from "./spill.ts";
import { SpillCounters } from "./spill-counters.ts";

/** A cell that refused is asked again after this, by the same request. */
const TRIED_MS = 1_000;
/** Tries of one request in other cells, before it stays where it is. */
const MOST_TRIES = 16;
/** Looks at running spills for cells that were lost. */
const LOOK_EVERY_MS = 500;
/** After so long a lost cell will not answer what it has; before, it may be only its digests. */
const GIVEN_UP_MS = 10_000;
/** Beyond all limits of the other cell: its own answer comes first. */
const GRACE_MS = 5_000;

export interface SpillDeskOptions {
  readonly node: CellNode;
  readonly random: Random;
  /** Monotonic, ms. */
  readonly now: () => number;
  /** Waiting requests of a service may go elsewhere now: eldest first, so many at most. */
  readonly reconsider: (service: string, most: number) => void;
}

/** What one request remembers of its tries. */
export class Tries {
  readonly refusedAt = new Map<string, number>();
  count = 0;
}

export interface SpillQuestion {
  readonly entry: RevisionEntry;
  readonly config: RevisionConfig;
  readonly clock: WaitClock;
  /** Of the wall clock, as the wait clock counts. */
  readonly at: number;
  readonly tries: Tries;
}

export interface SpillFinding {
  /** Null: the request stays here. */
  readonly plan: SpillPlan | null;
  /** Why, in a line; empty for a service of one cell. */
  readonly words: string;
}

const STAYS: SpillFinding = { plan: null, words: "" };

export class SpillDesk {
  readonly counters = new SpillCounters();
  readonly log = new ChoiceLog();
  readonly #options: SpillDeskOptions;
  readonly #dialers = new Map<string, Dialer>();
  readonly #running = new Set<Spill>();
  readonly #regions = new Map<string, readonly string[]>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: SpillDeskOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Empty where the service may run here. */
  whyNotHere(config: RevisionConfig): string {
    const regions = this.#regionsOf(config);
    const { own, ownEntry } = this.#options.node.directory;
    if (!spansCells(regions) || allows(regions, ownEntry)) return "";
    return `the service may not run in cell ${own}: its regions are ${regions.join(", ")}`;
  }

  find(question: SpillQuestion): SpillFinding {
    const { config, tries } = question;
    const regions = this.#regionsOf(config);
    if (!spansCells(regions) || tries.count >= MOST_TRIES) return STAYS;
    const choice = this.#choose(question, regions);
    const words = explainChoice(choice);
    this.log.note({ at: question.at, service: serviceOf(config), choice });
    if (choice.cell === null || choice.isHere) return { plan: null, words };
    return { plan: this.#plan(question, choice, choice.cell), words };
  }

  /** From what is known here and now, which may be 50 ms old; nothing is asked, and nothing chosen. */
  look(config: RevisionConfig): Look {
    if (!spansCells(this.#regionsOf(config))) return "while";
    const { node, now } = this.#options;
    const service = serviceOf(config);
    if (!node.snapshot.hasWarm(service, now())) return "while";
    return node.own.get(service)?.ready === 0 ? "now" : "before";
  }

  /** Another cell said something new: what waits here may be served there. */
  heard(services: readonly string[]): void {
    const { node, now, reconsider } = this.#options;
    for (const service of services) {
      if (!node.snapshot.hasWarm(service, now())) continue;
      const digests = node.directory
        .others()
        .map(({ name }) => node.snapshot.digestOf(name, service)?.offered ?? 0);
      reconsider(service, Math.max(...digests, 0));
    }
  }

  #choose(question: SpillQuestion, regions: readonly string[]): CellChoice {
    const { node, random, now } = this.#options;
    const { config, clock, at, tries } = question;
    const service = serviceOf(config);
    const { directory } = node;
    const cells = node.snapshot.offers({
      service,
      regions,
      here: { cell: directory.ownEntry, digest: node.own.get(service) },
      others: directory.others(),
      containerConcurrency: config.containerConcurrency,
      tried: recent(tries.refusedAt, now()),
      now: now(),
    });
    const remainingMs = clock.remainingMs(config, at);
    return chooseCell({ cells, remainingMs, dice: [random(), random()] });
  }

  #plan(question: SpillQuestion, choice: CellChoice, name: string): SpillPlan | null {
    const { node, now } = this.#options;
    const { config, clock, at, tries } = question;
    const service = serviceOf(config);
    const cell = node.directory.get(name);
    const digest = node.snapshot.digestOf(name, service);
    if (cell === undefined || digest === null) return null;
    const waitMs = Math.max(0, clock.remainingMs(config, at));
    let undo = (): void => {};
    return {
      cell,
      dialer: this.#dialerOf(name),
      hop: {
        spill: choice.expects === "warm" ? "warm" : "wait",
        waitMs,
        deadlineMs: clock.endsAt - at,
        namespace: config.namespace,
        revision: digest.revision,
        ...NO_RANK,
      },
      words: explainChoice(choice),
      totalMs: config.timeoutMs === 0 ? 0 : waitMs + config.timeoutMs + GRACE_MS,
      onLeave: (spill) => {
        tries.count += 1;
        undo = node.snapshot.sent(name, service, now());
        this.#running.add(spill);
      },
      onEnd: (spill, outcome) => {
        this.#running.delete(spill);
        this.counters.count(name, spill.plan.hop.spill, outcome);
        undo();
        if (isUntaken(outcome)) tries.refusedAt.set(name, now());
      },
    };
  }

  /** Undelivered requests leave a lost cell at once; what it may be working on is waited for. */
  #look(): void {
    const { node, now } = this.#options;
    const ages = new Map(node.snapshot.health(now()).map(({ cell, ageMs }) => [cell, ageMs]));
    for (const spill of this.#running) {
      const { cell } = spill.plan;
      const isLost = !node.snapshot.isFresh(cell.name, now());
      if (!isLost || !spill.isUnanswered) continue;
      const isGone = (ages.get(cell.name) ?? Number.POSITIVE_INFINITY) > GIVEN_UP_MS;
      if (spill.isHeldBack || isGone) spill.abandon();
    }
  }

  #dialerOf(cell: string): Dialer {
    const known = this.#dialers.get(cell);
    if (known !== undefined) return known;
    const { certificates } = this.#options.node;
    const dialer: Dialer = {
      key: `cell ${cell}`,
      dial: ({ host, port }) => certificates.dial({ cell, host, port, protocol: "" }),
    };
    this.#dialers.set(cell, dialer);
    return dialer;
  }

  /** Read for every waiting request, and the same few texts always. */
  #regionsOf(config: RevisionConfig): readonly string[] {
    const text = config.regions ?? "";
    const known = this.#regions.get(text);
    if (known !== undefined) return known;
    if (this.#regions.size > 1_000) this.#regions.clear();
    const regions = parseRegions(text);
    this.#regions.set(text, regions);
    return regions;
  }
}

function isUntaken(outcome: SpillOutcome): boolean {
  return outcome === "refused" || outcome === "undelivered";
}

function recent(refusedAt: ReadonlyMap<string, number>, now: number): ReadonlySet<string> {
  const names = [...refusedAt].filter(([, at]) => now - at < TRIED_MS).map(([name]) => name);
  return new Set(names);
}
