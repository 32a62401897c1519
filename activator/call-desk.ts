/**
 * Where calls get their rank: what all ranked calls of this process share, and the order in which
 * one is prepared: a look at its body, an estimate, its place in its workflow.
 *
 *   needs a rank? ── no ──► plain: arrival alone
 *        │ yes
 *   look at the body ─► estimate by what was learnt ─► open-call ─► acquire-lease
 */
import type { Clock } from "../common/clock.ts";
import type { RevisionConfig } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { Exchange, RequestHead } from "../proxy/types.ts";
import type { KnowledgeStore } from "../store/knowledge.ts";
import type { WorkflowStore } from "../store/types.ts";
import type { CallLog } from "./call-log.ts";
import { isModelCall, needsRank } from "./core/call-facts.ts";
import type { CallerHeaders } from "./core/caller-headers.ts";
import type { PrefixMemory } from "./core/prefix-memory.ts";
import type { TenantRules } from "./core/tenants.ts";
import type { KnowledgeCache } from "./knowledge-cache.ts";
import { RankedCall } from "./ranked-call.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { IncomingHop } from "./spills/incoming-hop.ts";

/** Longer prompts are sized by their announced length; parsing them would hold up the others. */
const LONGEST_LOOK_BYTES = 262_144;
/** A body that comes slower than this is not waited for. */
const LOOK_MS = 100;

export interface CallDeskParts {
  readonly workflows: WorkflowStore;
  readonly knowledgeStore: KnowledgeStore;
  readonly knowledge: KnowledgeCache;
  readonly log: CallLog;
  readonly tenants: TenantRules;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Body bytes that the proxy core keeps. */
  readonly replayBytes: number;
  readonly isDegraded: (entry: RevisionEntry) => boolean;
  /** Beginnings of prompts and the pods that were given them, one memory per revision. */
  readonly prefixesOf: (entry: RevisionEntry) => PrefixMemory;
}

export interface CallArrival {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly caller: CallerHeaders;
  readonly entry: RevisionEntry;
  readonly config: RevisionConfig;
  readonly requestId: string;
  /** It came from another cell, which keeps its workflow. */
  readonly hop?: IncomingHop;
}

export class CallDesk {
  readonly #parts: CallDeskParts;

  constructor(parts: CallDeskParts) {
    this.#parts = parts;
  }

  /** A tenant that somebody named who may not is not passed on. */
  dropsTenant(caller: CallerHeaders, head: RequestHead): boolean {
    return caller.tenant !== "" && !this.#parts.tenants.gateways.isTrusted(head.remoteAddress);
  }

  /** False for a plain request, which costs nothing more. */
  concerns(
    { caller, entry, hop }: Pick<CallArrival, "caller" | "entry" | "hop">,
    config: RevisionConfig,
  ): boolean {
    const isCarried = hop !== undefined && hop.headers.plan !== "";
    return (isCarried || needsRank(config, caller)) && !this.#parts.isDegraded(entry);
  }

  /** Never rejects: a fault of ours costs a call its rank and nobody else anything; then null. */
  async prepare(arrival: CallArrival): Promise<RankedCall | null> {
    try {
      const body = await this.#look(arrival);
      const call = new RankedCall(this.#parts, arrival, body);
      await call.open();
      return call;
    } catch (error) {
      this.#parts.logger.error("call not ranked", { revision: arrival.entry.key, error });
      return null;
    }
  }

  #look({ exchange, head, caller }: CallArrival): Promise<Buffer | null> {
    if (!isModelCall(head, caller.contentType)) return Promise.resolve(null);
    const maxBytes = Math.min(LONGEST_LOOK_BYTES, this.#parts.replayBytes);
    return new Promise((resolve) => {
      exchange.peekBody({ maxBytes, withinMs: LOOK_MS, onBody: resolve });
    });
  }
}
