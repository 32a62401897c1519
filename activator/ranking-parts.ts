/**
 * What an activator needs to rank calls, made once around the store: the desk, the log, what was
 * learnt, and the hand-back of calls that wait in a pod while another one is idle.
 */
import type { Clock } from "../common/clock.ts";
import type { Logger } from "../foundation/logger.ts";
import type { KnowledgeStore } from "../store/knowledge.ts";
import type { StoreSubscriber, WorkflowStore } from "../store/types.ts";
import { CallDesk } from "./call-desk.ts";
import { CallLog } from "./call-log.ts";
import type { ActivatorConfig } from "./config.ts";
import { PrefixMemory } from "./core/prefix-memory.ts";
import { Gateways } from "./core/tenants.ts";
import type { TenantRules } from "./core/tenants.ts";
import { askBack } from "./hand-back.ts";
import type { InternalTls } from "./internal-tls.ts";
import { KnowledgeCache } from "./knowledge-cache.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Revisions } from "./revisions.ts";

export interface RankingOptions {
  readonly workflows: WorkflowStore;
  readonly knowledge: KnowledgeStore;
}

export interface RankingParts {
  readonly desk: CallDesk;
  readonly log: CallLog;
}

export interface RankingSurroundings {
  readonly config: ActivatorConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isDegraded: (entry: RevisionEntry) => boolean;
}

export function createRankingParts(
  ranking: RankingOptions,
  around: RankingSurroundings,
): RankingParts {
  const { config, clock, logger, isDegraded } = around;
  const log = new CallLog(ranking.knowledge, logger);
  // Goes with the entry, which goes when its revision is not used any more.
  const prefixes = new WeakMap<RevisionEntry, PrefixMemory>();
  const desk = new CallDesk({
    workflows: ranking.workflows,
    knowledgeStore: ranking.knowledge,
    knowledge: new KnowledgeCache(ranking.knowledge, clock),
    log,
    tenants: tenantRules(config),
    clock,
    logger,
    replayBytes: config.replayBytes,
    isDegraded,
    prefixesOf: (entry) => {
      const known = prefixes.get(entry) ?? new PrefixMemory();
      prefixes.set(entry, known);
      return known;
    },
  });
  return { desk, log };
}

function tenantRules({ trustedGateways, tenantWeights }: ActivatorConfig): TenantRules {
  return { gateways: new Gateways(trustedGateways), weights: tenantWeights };
}

/** A pod is idle, and a call of ours may still wait in another one: that pod is asked for it. */
export function followSteals(
  subscriber: StoreSubscriber,
  revisions: Revisions,
  internalTls: InternalTls | null,
): void {
  subscriber.onSteal((offer) => {
    const lease = revisions.find(offer.revision)?.leases.get(offer.leaseId);
    // Ours no more, or moved already. What becomes of the call is told by the end of its attempt.
    if (lease?.targetUid === offer.targetUid) {
      void askBack(offer, internalTls?.dialerOf(offer.revision));
    }
  });
}
