/**
 * The autoscaler's side of the books: what this cell may run of each service of several cells, and
 * the talk with the home cells. Every answer is written down here before it is used to start pods,
 * and every return before it is said, so that a restart never holds more than the book knows.
 */
import type { ControlMessage } from "../common/contracts/cells.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import type { CellCalls, ServiceKey } from "../store/cell-calls.ts";
import type { Certificates } from "./certificates.ts";
import { ControlClient } from "./control-client.ts";
import { followCells } from "./follow-cells.ts";
import type { CellEntry } from "./core/cell-entry.ts";
import { OwnShare } from "./core/own-share.ts";
import type { OwnShareState, ShareAnswer } from "./core/own-share.ts";
import { allows } from "./core/regions.ts";
import { mustAsk, wishedShare } from "./core/share-plan.ts";
import type { CellDirectory } from "./directory.ts";

/** An answer that stays out is asked for anew, under a new number. */
const ANSWER_MS = 1_000;
const LOOK_EVERY_MS = 200;
/** What is held is said at least this often, so that a book that was lost is rebuilt. */
const SAY_EVERY_MS = 3_000;

export interface ShareClientOptions {
  readonly directory: CellDirectory;
  readonly certificates: Certificates;
  readonly calls: CellCalls;
  /** Of this process. */
  readonly name: string;
  readonly random: Random;
  readonly logger: Logger;
  /** Monotonic, ms. */
  readonly now: () => number;
  /** The share of a service changed. */
  readonly onChange: (service: string) => void;
  /** False: another process speaks for this cell by now. Asked before each word and each growth. */
  readonly mayAct?: () => boolean;
  /** Services of which pods may stand here that nobody has counted yet: nothing is said of them. */
  readonly uncounted?: () => { has(service: string): boolean; readonly size: number };
}

export interface ServiceWish {
  readonly regions: readonly string[];
  readonly wanted: number;
  readonly inUse: number;
  readonly room: number;
  readonly max: number;
}

interface Held {
  readonly service: string;
  share: OwnShare | null;
  wish: ServiceWish;
  /** Since when less was wished than is held. */
  calmSince: number;
  saidAt: number;
  /** Of the message that waits for its answer; 0 for none. */
  asking: number;
  /** What the book could still grant, as it said last. */
  free: number;
  /** A home that asked about a service of which nothing is known here. */
  asker: string;
  isSaving: boolean;
}

interface Asked {
  readonly service: string;
  readonly number: number;
  readonly home: string;
}

const MOST_ASKED = 4_096;
const NO_WISH: ServiceWish = { regions: [], wanted: 0, inUse: 0, room: 0, max: 0 };

export class ShareClient {
  readonly #options: ShareClientOptions;
  readonly #held = new Map<string, Held>();
  readonly #clients = new Map<string, ControlClient>();
  readonly #forgets = new Map<number, (pods: number) => void>();
  readonly #marks = new Map<string, string>();
  readonly #asked = new Map<number, Asked>();
  #ids = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ShareClientOptions) {
    this.#options = options;
  }

  start(): void {
    const { directory } = this.#options;
    directory.onChange(() => this.#useCells());
    this.#useCells();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const client of this.#clients.values()) client.close();
  }

  /** Pods that this cell may run of the service; 0 before anything is known. */
  holds(service: string): number {
    return this.#held.get(service)?.share?.holds ?? 0;
  }

  /** Whether what this cell holds of the service was read. */
  knows(service: string): boolean {
    return (this.#held.get(service)?.share ?? null) !== null;
  }

  /** Pods that could still be started: what is held and unused, and what the book would grant. */
  mayStart(service: string): number {
    const held = this.#held.get(service);
    if (held === undefined || held.share === null) return 0;
    const { directory } = this.#options;
    if (!allows(held.wish.regions, directory.ownEntry)) return 0;
    const free = this.isHeard(this.#homeOf(held)) ? held.free : 0;
    return Math.max(0, held.share.holds - held.wish.inUse) + free;
  }

  isHeard(cell: string): boolean {
    return this.#clients.get(cell)?.isHeard ?? false;
  }

  services(): readonly string[] {
    return [...this.#held.keys()];
  }

  /** What the load asks for now; the rest follows by itself. */
  wish(service: string, wish: ServiceWish): void {
    const held = this.#held.get(service);
    if (held === undefined) {
      void this.#load(service, wish);
      return;
    }
    held.wish = wish;
    this.#consider(held);
  }

  /** The service is gone here: everything goes back. */
  drop(service: string): void {
    const held = this.#held.get(service);
    if (held !== undefined) held.wish = { ...held.wish, wanted: 0, inUse: 0, room: 0 };
  }

  /** Declares a cell lost in the books of every cell that can be reached; answers its pods. */
  async forget(cell: string): Promise<number> {
    const answers = [...this.#clients].map(async ([name, client]) => {
      if (name === cell || !client.isHeard) return 0;
      this.#ids += 1;
      const id = this.#ids;
      const answer = new Promise<number>((resolve) => {
        this.#forgets.set(id, resolve);
        setTimeout(() => resolve(0), ANSWER_MS * 2).unref();
      });
      client.send({ kind: "forget", id, cell });
      return answer.finally(() => this.#forgets.delete(id));
    });
    return (await Promise.all(answers)).reduce((sum, pods) => sum + pods, 0);
  }

  /** Home of a service, as the directory has it now. */
  homeOf(regions: readonly string[]): string {
    return this.#options.directory.homeOf(regions);
  }

  #homeOf({ wish, asker }: Held): string {
    return wish.regions.length === 0 && asker !== "" ? asker : this.homeOf(wish.regions);
  }

  async #load(service: string, wish: ServiceWish, asker = ""): Promise<void> {
    const held: Held = {
      service,
      share: null,
      wish,
      calmSince: this.#options.now(),
      saidAt: Number.NEGATIVE_INFINITY,
      asking: 0,
      free: 0,
      asker,
      isSaving: false,
    };
    this.#held.set(service, held);
    try {
      const text = await this.#options.calls.readOwnShare(service as ServiceKey);
      held.share = new OwnShare(parseState(text), wish.inUse);
      this.#options.onChange(service);
      this.#consider(held);
    } catch (error) {
      // The store is away; the next wish reads again.
      this.#held.delete(service);
      this.#options.logger.debug("own share not read", { service, error });
    }
  }

  #look(): void {
    for (const held of this.#held.values()) this.#consider(held);
  }

  #consider(held: Held): void {
    const { directory, now } = this.#options;
    const { share, wish } = held;
    if (share === null || held.isSaving || !this.#mayAct()) return;
    if (held.asking !== 0 && now() - held.saidAt < ANSWER_MS) return;
    const full = {
      ...wish,
      holds: share.holds,
      isAllowed: allows(wish.regions, directory.ownEntry),
    };
    const what = mustAsk(full, now() - held.calmSince);
    if (wishedShare(full) >= share.holds) held.calmSince = now();
    const isDue = now() - held.saidAt > SAY_EVERY_MS;
    if (what === null && !isDue) return;
    void this.#say(held, share, what === null ? share.holds : wishedShare(full));
  }

  async #say(held: Held, share: OwnShare, wants: number): Promise<void> {
    const { now, logger } = this.#options;
    const { service, wish } = held;
    const home = this.#homeOf(held);
    const client = this.#clients.get(home);
    held.saidAt = now();
    if (client === undefined || !client.isHeard) return;
    held.isSaving = true;
    try {
      const before = share.holds;
      const ask = share.ask({ wants, inUse: wish.inUse, home });
      // Written down before it is said: a restart must not hold what was given back.
      if (ask.holds < before) await this.#save(service, share);
      if (!this.#mayAct()) return;
      held.asking = ask.number;
      const { number, holds, movedFrom } = ask;
      const { max } = wish;
      const id = this.#note({ service, number, home });
      client.send({ kind: "share", id, service, number, holds, wants, max, movedFrom });
      if (ask.holds < before) this.#options.onChange(service);
    } catch (error) {
      logger.debug("share not said", { service, error });
    } finally {
      held.isSaving = false;
    }
  }

  /** Of those that get no answer the oldest go. */
  #note(asked: Asked): number {
    this.#ids += 1;
    this.#asked.set(this.#ids, asked);
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > MOST_ASKED && oldest !== undefined) this.#asked.delete(oldest);
    return this.#ids;
  }

  async #answered(message: Extract<ControlMessage, { kind: "granted" }>): Promise<void> {
    const asked = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    const held = this.#held.get(asked?.service ?? "");
    if (asked === undefined || held === undefined || held.share === null) return;
    if (held.asking === asked.number) held.asking = 0;
    const { outcome: kind, share, numberOnRecord, mark, free } = message;
    if (kind === "failed") return;
    if (kind === "hearing") void this.#tellAll(asked.home, mark);
    const isNews = held.free !== free;
    held.free = free;
    await this.#granted(asked, held, held.share, { kind, share, numberOnRecord });
    // Other cells are told what could be started here.
    if (isNews) this.#options.onChange(held.service);
  }

  async #granted(asked: Asked, held: Held, share: OwnShare, answer: ShareAnswer): Promise<void> {
    if (!this.#mayAct()) return;
    const before = share.holds;
    const again = share.answered(asked.home, asked.number, answer);
    if (again) return this.#consider(held);
    if (share.holds === before) return;
    // Growth that is not on record is safe: the book counts it, and after a restart so do its pods.
    await this.#save(asked.service, share).catch(() => undefined);
    this.#options.onChange(asked.service);
  }

  /** A book that was lost, or is new, grants nothing before it knows what everybody holds. */
  async #tellAll(home: string, mark: string): Promise<void> {
    const client = this.#clients.get(home);
    if (client === undefined || mark === "" || this.#marks.get(home) === mark) return;
    // What is still being read cannot be told: the next answer asks again.
    if ([...this.#held.values()].some(({ share }) => share === null)) return;
    if (!this.#mayAct() || (this.#options.uncounted?.().size ?? 0) > 0) return;
    this.#marks.set(home, mark);
    const told = [...this.#held.values()].map(async (held) => {
      if (held.share === null || this.#homeOf(held) !== home || held.asking !== 0) return;
      await this.#say(held, held.share, held.share.holds);
    });
    await Promise.all(told);
    client.send({ kind: "told", mark });
  }

  #heard(service: string, from: string): void {
    // Asked again as long as it matters.
    if (this.#options.uncounted?.().has(service) === true) return;
    const held = this.#held.get(service);
    const client = this.#clients.get(from);
    if (held !== undefined && held.share !== null) {
      if (held.asking === 0 && this.#mayAct()) void this.#say(held, held.share, held.share.holds);
    } else if (held === undefined && client !== undefined) {
      // Nothing runs of it here; the store may know what was held once.
      void this.#load(service, NO_WISH, from);
    }
  }

  #useCells(): void {
    followCells(this.#options.directory.all(), {
      clients: this.#clients,
      connect: (cell) => this.#connect(cell),
    });
    for (const service of this.#held.keys()) this.#options.onChange(service);
  }

  #connect(cell: CellEntry): void {
    const { certificates, directory, name, random, now } = this.#options;
    const client = new ControlClient(cell, {
      certificates,
      own: directory.own,
      name,
      digests: false,
      entry: false,
      random,
      now,
      onMessage: (message) => this.#onMessage(cell.name, message),
      onLost: () => this.#marks.delete(cell.name),
    });
    this.#clients.set(cell.name, client);
    client.start();
  }

  #onMessage(from: string, message: ControlMessage): void {
    if (message.kind === "granted") void this.#answered(message);
    else if (message.kind === "hear") this.#heard(message.service, from);
    else if (message.kind === "forgotten") this.#forgets.get(message.id)?.(message.pods);
  }

  #mayAct(): boolean {
    return this.#options.mayAct?.() ?? true;
  }

  #save(service: string, share: OwnShare): Promise<void> {
    return this.#options.calls.writeOwnShare(service as ServiceKey, JSON.stringify(share.state));
  }
}

function parseState(text: string | null): OwnShareState | null {
  if (text === null) return null;
  try {
    const { holds, number, home } = JSON.parse(text) as Partial<OwnShareState>;
    if (typeof holds !== "number" || typeof number !== "number") return null;
    return { holds, number, home: home ?? "" };
  } catch {
    return null;
  }
}
