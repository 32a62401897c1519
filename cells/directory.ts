/**
 * The cells of the platform as their folder names them, one file each (in a cluster a ConfigMap),
 * read again when it changes. A faulty file is refused alone, and its last good words hold.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { CellEntry } from "./core/cell-entry.ts";
import { defaultHome, readCellEntry } from "./core/cell-entry.ts";
import { homeCell } from "./core/regions.ts";
import type { Logger } from "../foundation/logger.ts";

/** A ConfigMap is replaced as a whole; looking each second is cheaper than to watch it right. */
const LOOK_EVERY_MS = 1_000;

export interface CellDirectoryOptions {
  readonly folder: string;
  /** Name of this cell. */
  readonly own: string;
  readonly logger: Logger;
}

export class CellDirectory {
  readonly own: string;
  readonly #options: CellDirectoryOptions;
  readonly #texts = new Map<string, string>();
  readonly #listeners: (() => void)[] = [];
  #cells = new Map<string, CellEntry>();
  #faults: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CellDirectoryOptions) {
    this.own = options.own;
    this.#options = options;
    this.#look();
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Entries that were refused, in words. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  all(): readonly CellEntry[] {
    return [...this.#cells.values()];
  }

  others(): readonly CellEntry[] {
    return this.all().filter(({ name }) => name !== this.own);
  }

  get(name: string): CellEntry | undefined {
    return this.#cells.get(name);
  }

  /** This cell; one that the folder does not name stands in no region. */
  get ownEntry(): CellEntry {
    const nothing = { region: this.own, tags: [], peer: "", isHome: false, prices: {} };
    return this.#cells.get(this.own) ?? { name: this.own, ...nothing };
  }

  homeOf(regions: readonly string[]): string {
    const cells = this.all();
    return homeCell(regions, cells, defaultHome(cells));
  }

  #look(): void {
    const texts = this.#readFiles();
    if (texts === null || !this.#isNews(texts)) return;
    const cells = new Map<string, CellEntry>();
    const faults: string[] = [];
    for (const [name, text] of texts) {
      const read = readCellEntry(name, text);
      const cell = read.kind === "cell" ? read.cell : this.#cells.get(name);
      if (read.kind === "faulty") faults.push(read.message);
      if (cell !== undefined) cells.set(name, cell);
    }
    this.#texts.clear();
    for (const [name, text] of texts) this.#texts.set(name, text);
    this.#cells = cells;
    this.#faults = faults;
    for (const message of faults) this.#options.logger.warn("cell refused", { message });
    for (const listener of this.#listeners) listener();
  }

  /** Null while the folder cannot be read: what was known stays. */
  #readFiles(): ReadonlyMap<string, string> | null {
    const { folder } = this.#options;
    try {
      // A mounted ConfigMap has folders of its own whose names begin with dots.
      const names = readdirSync(folder).filter((name) => !name.startsWith("."));
      return new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
    } catch {
      return null;
    }
  }

  #isNews(texts: ReadonlyMap<string, string>): boolean {
    if (texts.size !== this.#texts.size) return true;
    return [...texts].some(([name, text]) => this.#texts.get(name) !== text);
  }
}
