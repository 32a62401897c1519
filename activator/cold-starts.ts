/**
 * Joins a finished cold start to one record: what the first request saw, and the instants that the
 * pod's own processes told. Off the request's path; a record that cannot be written is only lost.
 */
import type { RevisionKey, StartMarks } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RoutingStore } from "../store/types.ts";

/** Targets whose first request is known; the oldest are forgotten. */
const MAX_REMEMBERED = 4_096;

export interface ColdRequest {
  readonly revision: RevisionKey;
  readonly service: string;
  readonly requestId: string;
  readonly podUid: string;
  readonly requestAt: number;
  readonly dispatchedAt: number;
  readonly firstByteAt: number;
}

export interface ColdStartsOptions {
  readonly store: RoutingStore;
  readonly logger: Logger;
  /** Marks of a pod that pushes to this activator. */
  readonly marksOf: (podUid: string) => StartMarks | undefined;
}

export class ColdStarts {
  readonly #options: ColdStartsOptions;
  readonly #seen = new Set<string>();

  constructor(options: ColdStartsOptions) {
    this.#options = options;
  }

  /** Any request that was served by the target; only the first after a cold wait is recorded. */
  note(request: ColdRequest): void {
    if (this.#seen.has(request.podUid)) return;
    this.#seen.add(request.podUid);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= MAX_REMEMBERED) break;
      this.#seen.delete(oldest);
    }
    void this.#record(request);
  }

  async #record(request: ColdRequest): Promise<void> {
    const { store, logger } = this.#options;
    try {
      const marks = await this.#marks(request);
      await store.recordColdStart({
        ...request,
        decidedAt: marks.decidedAt ?? null,
        spawnedAt: marks.spawnedAt ?? null,
        sidecarAt: marks.sidecarAt ?? null,
        listeningAt: marks.listeningAt ?? null,
        readyAt: marks.readyAt ?? null,
      });
    } catch (error) {
      logger.warn("cold start not recorded", { revision: request.revision, error });
    }
  }

  /** The pod may push to another activator; then the store knows. */
  async #marks(request: ColdRequest): Promise<StartMarks> {
    const known = this.#options.marksOf(request.podUid);
    if (known !== undefined) return known;
    const targets = await this.#options.store.readTargets(request.revision);
    return targets.find((target) => target.uid === request.podUid)?.marks ?? {};
  }
}
