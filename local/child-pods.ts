/**
 * Scale target made of child processes: the pods of all revisions, as many of each as the
 * controller asks for.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type { ScaledPod, ScaleRequest, ScaleTarget } from "../autoscaler/ports.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { errorText } from "../common/errors.ts";
import type { AddressBook } from "./addresses.ts";
import { Pod } from "./pod.ts";
import type { PodWorld } from "./pod.ts";
import { removePodLogs } from "./pod-files.ts";
import type { PodEvent, PodPlan, PodSummary } from "./pod-types.ts";
import { warmUp } from "./warm-up.ts";
import { RUN_FILES } from "./run-folder.ts";

/** Logs of this many pods stay after their end. */
const KEPT_LOGS = 50;

export interface ChildPodsOptions {
  readonly world: PodWorld;
  readonly addresses: AddressBook;
  /** The plan of a revision's pods; undefined when the revision is gone. */
  readonly plan: (key: RevisionKey) => PodPlan | undefined;
  readonly onEvent: (pod: PodSummary, event: PodEvent) => void;
}

export class ChildPods implements ScaleTarget {
  readonly #options: ChildPodsOptions;
  readonly #pods = new Map<string, Pod>();
  readonly #wanted = new Map<RevisionKey, number>();
  /** Pods that wait for their address. */
  readonly #arriving = new Map<RevisionKey, number>();
  readonly #listeners: ((key: RevisionKey) => void)[] = [];
  /** Pods that are gone and whose logs are still kept, oldest first. */
  #departed: string[] = [];
  #stopping = false;

  constructor(options: ChildPodsOptions) {
    this.#options = options;
  }

  /** Before the first pod: see `warm-up.ts`. */
  warmUp(): Promise<void> {
    const { addresses, world } = this.#options;
    return warmUp({ addresses, secret: world.secret });
  }

  readScale(key: RevisionKey): Promise<number> {
    return Promise.resolve(this.#wanted.get(key) ?? 0);
  }

  async writeScale(request: ScaleRequest): Promise<void> {
    if (this.#stopping) return;
    const { key, replicas, leaveOrder, decidedAt, reason } = request;
    this.#wanted.set(key, replicas);
    const surplus = this.#staying(key).length + (this.#arriving.get(key) ?? 0) - replicas;
    if (surplus > 0) this.#dismiss(key, { count: surplus, leaveOrder, reason });
    else await this.#add(key, -surplus, decidedAt);
  }

  listPods(key: RevisionKey): Promise<readonly ScaledPod[]> {
    return Promise.resolve(this.#of(key).map((pod) => pod.summary));
  }

  async replacePod(key: RevisionKey, uid: string, reason: string): Promise<void> {
    const pod = this.#pods.get(uid);
    if (pod === undefined || pod.plan.key !== key) return;
    this.#terminate(pod, reason);
    const missing = (this.#wanted.get(key) ?? 0) - this.#staying(key).length;
    await this.#add(key, missing, this.#options.world.clock.now());
  }

  onPodsChanged(listener: (key: RevisionKey) => void): void {
    this.#listeners.push(listener);
  }

  summaries(): readonly PodSummary[] {
    return [...this.#pods.values()].map((pod) => pod.summary);
  }

  hasPods(key: RevisionKey): boolean {
    return this.#of(key).length > 0 || (this.#arriving.get(key) ?? 0) > 0;
  }

  /** Drops the wishes of revisions that are gone. */
  prune(exists: (key: RevisionKey) => boolean): void {
    for (const key of this.#wanted.keys()) {
      if (exists(key) || this.hasPods(key)) continue;
      this.#wanted.delete(key);
      this.#arriving.delete(key);
    }
  }

  refreshTokens(): void {
    for (const pod of this.#pods.values()) pod.refreshToken();
  }

  refreshActivators(): void {
    for (const pod of this.#pods.values()) pod.refreshActivators();
  }

  /** Live keys of a service changed: as annotating its pods would do in a cluster. */
  refreshAnnotations(key: RevisionKey): void {
    const plan = this.#options.plan(key);
    if (plan === undefined) return;
    for (const pod of this.#of(key)) pod.refreshAnnotations(plan.template.annotations);
  }

  /** Ends every pod; after `graceMs` by force. A second call with a shorter time cuts the first. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    const pods = [...this.#pods.values()];
    await Promise.all(pods.map((pod) => pod.terminate(graceMs, "the platform stops")));
  }

  #of(key: RevisionKey): readonly Pod[] {
    return [...this.#pods.values()].filter((pod) => pod.plan.key === key);
  }

  #staying(key: RevisionKey): readonly Pod[] {
    return this.#of(key).filter((pod) => pod.phase !== "terminating");
  }

  async #add(key: RevisionKey, count: number, decidedAt: number): Promise<void> {
    const starts = Array.from({ length: Math.max(0, count) }, () => this.#start(key, decidedAt));
    await Promise.all(starts);
  }

  async #start(key: RevisionKey, decidedAt: number): Promise<void> {
    const { addresses, plan: planOf, world, onEvent } = this.#options;
    this.#arriving.set(key, (this.#arriving.get(key) ?? 0) + 1);
    const [address, userPort] = await Promise.all([
      addresses.takeAddress(),
      addresses.takePort(),
    ]).finally(() => this.#arriving.set(key, (this.#arriving.get(key) ?? 1) - 1));
    // The wish may have changed while the address was looked for.
    const plan = planOf(key);
    const missing = (this.#wanted.get(key) ?? 0) - this.#staying(key).length;
    if (this.#stopping || plan === undefined || missing <= 0) {
      return addresses.giveBack(address, userPort);
    }
    const uid = randomUUID();
    const name = `${plan.revision}-${randomBytes(4).toString("hex").slice(0, 5)}`;
    const root = world.folder.at(RUN_FILES.podRoots, uid);
    const pod: Pod = new Pod({
      plan: { ...plan, card: this.#cardFor(plan) },
      place: { uid, name, address, userPort, root },
      decidedAt,
      world,
      onEvent: (event) => {
        if (event.kind === "gone") this.#forget(pod);
        onEvent(pod.summary, event);
        for (const listener of this.#listeners) listener(key);
      },
      onDrained: () => void this.replacePod(key, uid, "its queue-proxy was told to stop"),
    });
    this.#pods.set(uid, pod);
    try {
      pod.start();
    } catch (error) {
      // A full disk, no more processes: the controller tries again with a new pod.
      void pod.terminate(0, errorText(error));
      throw error;
    }
  }

  /**
   * There is no card to look for on this machine: the ones that the service names are given out in
   * turn, as if each had been taken when the next pod came.
   */
  #cardFor({ key, card, cards = [] }: PodPlan): string {
    const taken = this.#staying(key).map((pod) => pod.plan.card);
    const uses = cards.map((name) => taken.filter((other) => other === name).length);
    return cards[uses.indexOf(Math.min(...uses))] ?? card;
  }

  #dismiss(
    key: RevisionKey,
    how: { count: number; leaveOrder: readonly string[]; reason: string },
  ): void {
    const ranks = new Map(how.leaveOrder.map((uid, index) => [uid, index]));
    const rank = (pod: Pod): number => ranks.get(pod.place.uid) ?? how.leaveOrder.length;
    const leaving = this.#staying(key).toSorted(
      // Those the controller did not name: the youngest first.
      (a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt,
    );
    for (const pod of leaving.slice(0, how.count)) this.#terminate(pod, how.reason);
  }

  #terminate(pod: Pod, reason: string): void {
    void pod.terminate(pod.plan.template.timeoutSeconds * 1000, reason);
  }

  #forget(pod: Pod): void {
    this.#pods.delete(pod.place.uid);
    this.#departed.push(pod.place.name);
    if (this.#departed.length > KEPT_LOGS) {
      const oldest = this.#departed.shift() ?? "";
      removePodLogs(this.#options.world.folder.at(RUN_FILES.logs), oldest);
    }
    this.#options.addresses.giveBack(pod.place.address, pod.place.userPort);
  }
}
