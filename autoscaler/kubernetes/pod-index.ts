/**
 * The pods of all revisions, by revision, with what their nodes say about them: the card, and
 * whether the node is about to be taken away.
 */
import type { Clock } from "../../common/clock.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { ScaledPod } from "../ports.ts";
import { cardOf, reclaimNotice } from "./cards.ts";
import type { Change, Collection } from "./collection.ts";
import { keyOf, REVISION_LABEL } from "./objects.ts";
import type { Node, Pod } from "./objects.ts";
import { isOver, isReady, leavingReason, phaseOf, waitingFor } from "./pod-facts.ts";
import { StartFailures } from "./start-failures.ts";

export interface PodIndexOptions {
  readonly pods: Collection<Pod>;
  readonly nodes: Collection<Node>;
  readonly clock: Clock;
}

export interface ReclaimedPod {
  readonly key: RevisionKey;
  readonly pod: Pod;
  readonly why: string;
}

/** Uids whose deletion was seen, newest last; enough for the largest revision to go at once. */
const REMEMBERED_DEPARTURES = 50_000;

export class PodIndex {
  readonly #options: PodIndexOptions;
  readonly #byRevision = new Map<RevisionKey, Map<string, Pod>>();
  readonly #byNode = new Map<string, Map<string, Pod>>();
  readonly #failures = new StartFailures();
  readonly #departed = new Set<string>();
  readonly #listeners: ((key: RevisionKey) => void)[] = [];
  readonly #reclaimListeners: ((pod: ReclaimedPod) => void)[] = [];

  constructor(options: PodIndexOptions) {
    this.#options = options;
    options.pods.onChange((change) => this.#onPod(change));
    options.nodes.onChange((change) => this.#onNode(change));
  }

  onPodsChanged(listener: (key: RevisionKey) => void): void {
    this.#listeners.push(listener);
  }

  /** Pods that stand on a node which is about to go, and are not leaving yet. */
  onReclaim(listener: (pod: ReclaimedPod) => void): void {
    this.#reclaimListeners.push(listener);
  }

  reclaimed(): readonly ReclaimedPod[] {
    return [...this.#options.nodes.values()].flatMap((node) => this.#reclaimedOn(node));
  }

  list(key: RevisionKey): readonly ScaledPod[] {
    return this.#objects(key)
      .filter((pod) => !isOver(pod))
      .map((pod) => this.#scaledPod(pod));
  }

  ready(key: RevisionKey): readonly Pod[] {
    return this.#objects(key).filter((pod) => isReady(pod) && isStaying(pod));
  }

  has(key: RevisionKey): boolean {
    return this.#objects(key).some((pod) => !isOver(pod));
  }

  find(key: RevisionKey, uid: string): Pod | undefined {
    return this.#byRevision.get(key)?.get(uid);
  }

  /** Its deletion was seen, so nobody has to ask. */
  hasDeparted(uid: string): boolean {
    return this.#departed.has(uid);
  }

  #objects(key: RevisionKey): readonly Pod[] {
    return [...(this.#byRevision.get(key)?.values() ?? [])];
  }

  #scaledPod(pod: Pod): ScaledPod {
    const { metadata, spec } = pod;
    const now = this.#options.clock.now();
    const node = this.#options.nodes.get(spec?.nodeName ?? "");
    return {
      uid: metadata.uid ?? "",
      name: metadata.name,
      phase: phaseOf(pod, reclaimNotice(node)),
      card: cardOf(node),
      createdAt: Date.parse(metadata.creationTimestamp ?? "") || now,
      failure: this.#failures.of(pod, now),
      waitingFor: waitingFor(pod),
    };
  }

  #onPod({ before, after }: Change<Pod>): void {
    const [old, now] = [revisionOf(before), revisionOf(after)];
    // One name, another life: as if one had gone and another come.
    const isNewLife = before?.metadata.uid !== after?.metadata.uid;
    if (before !== undefined && (isNewLife || old !== now)) this.#remove(before, old);
    if (after !== undefined && now !== null) this.#add(after, now);
    for (const key of new Set([old, now])) {
      if (key !== null) this.#tell(key);
    }
  }

  #add(pod: Pod, key: RevisionKey): void {
    const { uid = "" } = pod.metadata;
    this.#failures.note(pod, this.#options.clock.now());
    entry(this.#byRevision, key).set(uid, pod);
    const node = pod.spec?.nodeName ?? "";
    if (node === "") return;
    entry(this.#byNode, node).set(uid, pod);
    const why = reclaimNotice(this.#options.nodes.get(node));
    if (why !== "" && isStaying(pod)) this.#tellReclaim({ key, pod, why });
  }

  #remove(pod: Pod, key: RevisionKey | null): void {
    const { uid = "" } = pod.metadata;
    this.#failures.forget(uid);
    if (key !== null) withdraw(this.#byRevision, key, uid);
    withdraw(this.#byNode, pod.spec?.nodeName ?? "", uid);
    this.#departed.add(uid);
    if (this.#departed.size <= REMEMBERED_DEPARTURES) return;
    for (const oldest of this.#departed) {
      this.#departed.delete(oldest);
      break;
    }
  }

  #onNode({ key: name, before, after }: Change<Node>): void {
    const isSame =
      cardOf(before) === cardOf(after) && reclaimNotice(before) === reclaimNotice(after);
    if (isSame) return;
    const pods = [...(this.#byNode.get(name)?.values() ?? [])];
    const keys = new Set(pods.map(revisionOf).filter((key) => key !== null));
    for (const key of keys) this.#tell(key);
    if (after === undefined) return;
    for (const pod of this.#reclaimedOn(after)) this.#tellReclaim(pod);
  }

  #reclaimedOn(node: Node): readonly ReclaimedPod[] {
    const why = reclaimNotice(node);
    if (why === "") return [];
    return [...(this.#byNode.get(node.metadata.name)?.values() ?? [])].flatMap((pod) => {
      const key = revisionOf(pod);
      return key === null || !isStaying(pod) ? [] : [{ key, pod, why }];
    });
  }

  #tell(key: RevisionKey): void {
    for (const listener of this.#listeners) listener(key);
  }

  #tellReclaim(pod: ReclaimedPod): void {
    for (const listener of this.#reclaimListeners) listener(pod);
  }
}

function isStaying(pod: Pod): boolean {
  return !isOver(pod) && leavingReason(pod) === "";
}

function revisionOf(pod: Pod | undefined): RevisionKey | null {
  const { namespace = "", labels = {} } = pod?.metadata ?? {};
  const revision = labels[REVISION_LABEL];
  return revision === undefined ? null : keyOf(namespace, revision);
}

function entry<K, V>(index: Map<K, Map<string, V>>, key: K): Map<string, V> {
  const found = index.get(key) ?? new Map<string, V>();
  index.set(key, found);
  return found;
}

function withdraw<K, V>(index: Map<K, Map<string, V>>, key: K, uid: string): void {
  const found = index.get(key);
  found?.delete(uid);
  if (found?.size === 0) index.delete(key);
}
