/**
 * Revisions that the store still knows and no object stands for, e.g. removed while no autoscaler
 * ran. They go at the second look, so that a list which is still filling removes nothing.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RoutingStore } from "../store/types.ts";
import type { ObjectSource } from "./ports.ts";

export interface OrphanOptions {
  readonly store: RoutingStore;
  readonly objects: ObjectSource;
  readonly logger: Logger;
  readonly owns: (key: RevisionKey) => boolean;
}

export function createOrphanSweep(options: OrphanOptions): () => Promise<void> {
  let suspects = new Set<RevisionKey>();
  return async () => {
    try {
      const known = await options.store.listRevisions();
      const orphans = known.filter(
        (key) => options.owns(key) && options.objects.get(key) === undefined,
      );
      for (const key of orphans) {
        if (!suspects.has(key)) continue;
        options.logger.info("revision without an object removed", { key });
        await options.store.removeRevision(key);
      }
      suspects = new Set(orphans);
    } catch (error) {
      options.logger.warn("sweep of lost revisions failed", { error });
    }
  };
}
