/**
 * The routes of a local run, read from `routes.json` and read again when it is replaced. A file
 * that cannot be read leaves the last good table in force.
 */
import { readFileSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { join } from "node:path";
import type { RouteTable } from "../common/contracts/local-run.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RouteIndex } from "./core/name-revision.ts";
import { indexRoutes } from "./core/name-revision.ts";

const FILE = "routes.json";
/** A notice of the file system can be lost; this finds the change anyway. */
const POLL_MS = 1_000;

export class RouteFile {
  readonly #folder: string;
  readonly #logger: Logger;
  #index: RouteIndex = new Map();
  #revisions: ReadonlySet<string> = new Set();
  #text = "";
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  get index(): RouteIndex {
    return this.#index;
  }

  /** Whether a route names the revision, with whatever share. */
  leadsTo(revision: RevisionKey): boolean {
    return this.#revisions.has(revision);
  }

  start(): void {
    this.#read();
    this.#watcher = watch(this.#folder, (_event, name) => {
      if (name === FILE) this.#read();
    });
    this.#watcher.on("error", (error) => this.#logger.warn("routes not watched", { error }));
    this.#timer = setInterval(() => this.#read(), POLL_MS);
  }

  stop(): void {
    this.#watcher?.close();
    clearInterval(this.#timer);
  }

  /** Small, on a local disk, replaced as a whole: reading it at once keeps one order of changes. */
  #read(): void {
    try {
      const text = readFileSync(join(this.#folder, FILE), "utf8");
      if (text === this.#text) return;
      this.#index = indexRoutes(JSON.parse(text) as RouteTable);
      const shares = [...this.#index.values()].flat();
      this.#revisions = new Set(shares.map(({ revision }) => revision));
      this.#text = text;
    } catch (error) {
      // Before the platform wrote its first table there is none.
      if ((error as NodeJS.ErrnoException).code === "ENOENT" && this.#text === "") return;
      this.#logger.warn("routes not read", { error });
    }
  }
}
