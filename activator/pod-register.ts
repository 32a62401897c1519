/**
 * Which pod a claim speaks of. Read once, and again while something of it is open: its address,
 * which the kubelet reports late, or probes that only the kubelet runs. While the API server is
 * away, a pod that routing already knows is believed what the routing state says of it.
 */
import type { Clock } from "../common/clock.ts";
import type { PushReport } from "../common/contracts/push.ts";
import type { RevisionKey, TargetView } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";
import { withoutMapping } from "../common/peer-address.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RoutingStore } from "../store/types.ts";
import type { PodClaim, PodFacts } from "./core/pod-facts.ts";
import type { PodIdentity } from "./pod-identity.ts";
import type { PodSession } from "./pod-session.ts";

export interface PodRegisterOptions {
  readonly store: RoutingStore;
  readonly identity: PodIdentity;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Many pods come at once when an activator starts; one read of their revision serves them all. */
const RECORD_AGE_MS = 2_000;
const MAX_RECORDS = 64;
/** A pod that was refused is not asked about again so soon, however often it pushes. */
const REFUSED_MS = 1_000;
const MAX_REFUSED = 1_024;

interface RecordedTargets {
  readonly readAt: number;
  readonly targets: Promise<readonly TargetView[]>;
}

export class PodRegister {
  readonly #options: PodRegisterOptions;
  readonly #records = new Map<RevisionKey, RecordedTargets>();
  readonly #rereading = new Set<string>();
  readonly #refused = new Map<string, { readonly error: unknown; readonly until: number }>();

  constructor(options: PodRegisterOptions) {
    this.#options = options;
  }

  /** Rejects with the error of the identity; `source` is where the push came from. */
  async find(claim: PodClaim, report: PushReport, source: string): Promise<PodFacts> {
    const refused = this.#refused.get(claim.uid);
    if (refused !== undefined && refused.until > this.#options.clock.now()) throw refused.error;
    try {
      return await this.#options.identity.readPod(claim);
    } catch (error) {
      if (!isAway(error)) throw this.#refuse(claim, error);
      const borrowed = await this.#onRecord(claim, report, source);
      if (borrowed === undefined) throw error;
      this.#options.logger.warn("pod taken from the routing state", { pod: claim.uid, error });
      return borrowed;
    }
  }

  /** Reads the pod of a session again when that is due; the session keeps what it learns. */
  async reread(session: PodSession): Promise<void> {
    const { uid } = session.facts;
    const { clock, identity, logger } = this.#options;
    if (!session.isDue(clock.now()) || this.#rereading.has(uid)) return;
    this.#rereading.add(uid);
    try {
      session.learn(await identity.readPod(session.claim), clock.now());
    } catch (error) {
      session.learnedNothing(clock.now());
      logger.debug("pod not read again", { pod: uid, error });
    } finally {
      this.#rereading.delete(uid);
    }
  }

  #refuse({ uid }: PodClaim, error: unknown): unknown {
    if (this.#refused.size >= MAX_REFUSED) this.#refused.clear();
    this.#refused.set(uid, { error, until: this.#options.clock.now() + REFUSED_MS });
    return error;
  }

  async #onRecord(
    claim: PodClaim,
    report: PushReport,
    source: string,
  ): Promise<PodFacts | undefined> {
    const [namespace = "", revision = ""] = report.revision.split("/");
    if (namespace !== claim.namespace) return undefined;
    const targets = await this.#targetsOf(report.revision).catch(() => []);
    const known = targets.find(({ uid }) => uid === claim.uid);
    if (known === undefined || hostOf(known.address) !== source) return undefined;
    return {
      uid: claim.uid,
      podName: claim.podName,
      namespace,
      service: "",
      revision,
      address: source,
      card: "",
      marks: {},
      isBorrowed: true,
    };
  }

  #targetsOf(revision: RevisionKey): Promise<readonly TargetView[]> {
    const now = this.#options.clock.now();
    const known = this.#records.get(revision);
    if (known !== undefined && now - known.readAt < RECORD_AGE_MS) return known.targets;
    if (this.#records.size >= MAX_RECORDS) this.#records.clear();
    const targets = this.#options.store.readTargets(revision);
    this.#records.set(revision, { readAt: now, targets });
    return targets;
  }
}

function isAway(error: unknown): boolean {
  return error instanceof PlatformError && error.code === "ERR_API_UNAVAILABLE";
}

function hostOf(address: string): string {
  return withoutMapping(address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, ""));
}
