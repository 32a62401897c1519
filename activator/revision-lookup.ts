/**
 * Whether a revision exists, asked of the API server only about those that the store does not know:
 * a new one whose configuration is on its way must wait, a name that nobody made must not. Any
 * doubt counts as "it exists", so that an API server that is away refuses nothing.
 */
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { ApiReader } from "./api-reader.ts";

export interface RevisionLookupOptions {
  readonly read: ApiReader;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Short, since a revision of that name may be made the next moment. */
const ABSENT_MS = 2_000;
const PRESENT_MS = 10_000;
/** Names are free to invent: beyond this many questions at a time, the rest wait their limit out. */
const MAX_QUESTIONS = 32;
const MAX_KNOWN = 4_096;

interface Known {
  readonly exists: boolean;
  readonly until: number;
}

export class RevisionLookup {
  readonly #options: RevisionLookupOptions;
  readonly #known = new Map<RevisionKey, Known>();
  readonly #asking = new Set<RevisionKey>();

  constructor(options: RevisionLookupOptions) {
    this.#options = options;
  }

  /** What is known now; asks where nothing is, so that the next call knows. */
  mayExist(revision: RevisionKey): boolean {
    const known = this.#known.get(revision);
    if (known !== undefined && known.until > this.#options.clock.now()) return known.exists;
    this.#known.delete(revision);
    void this.#ask(revision);
    return true;
  }

  async #ask(revision: RevisionKey): Promise<void> {
    if (this.#asking.has(revision) || this.#asking.size >= MAX_QUESTIONS) return;
    const { read, clock, logger } = this.#options;
    const [namespace = "", name = ""] = revision.split("/").map(encodeURIComponent);
    this.#asking.add(revision);
    try {
      const path = `/apis/serving.knative.dev/v1/namespaces/${namespace}/revisions/${name}`;
      const exists = (await read(path)) !== undefined;
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      const until = clock.now() + (exists ? PRESENT_MS : ABSENT_MS);
      this.#known.set(revision, { exists, until });
    } catch (error) {
      logger.debug("revision not looked up", { revision, error });
    } finally {
      this.#asking.delete(revision);
    }
  }
}
