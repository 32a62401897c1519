/**
 * The outside of the autoscaler for tests: objects and pods in memory, a scale that starts and ends
 * pods at once, statuses kept. The store beside it is a real one, or the model below.
 */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type {
  ObjectSource,
  ScaledPod,
  ScaledRevision,
  ScaleRequest,
  ScalerStatus,
  ScaleTarget,
  StatusSink,
} from "../../autoscaler/ports.ts";

export const SERVICE_KEY: RevisionKey = "default/echo-00001";

export function scaledRevision(changes: Partial<ScaledRevision> = {}): ScaledRevision {
  return {
    key: SERVICE_KEY,
    namespace: "default",
    service: "echo",
    revision: "echo-00001",
    annotations: {},
    containerConcurrency: 1,
    timeoutSeconds: 900,
    responseStartTimeoutSeconds: 0,
    idleTimeoutSeconds: 0,
    protocol: "http1",
    reachable: true,
    createdAt: 0,
    ...changes,
  };
}

export class World {
  readonly revisions = new Map<RevisionKey, ScaledRevision>();
  readonly replicas = new Map<RevisionKey, number>();
  readonly pods = new Map<RevisionKey, ScaledPod[]>();
  readonly writes: ScaleRequest[] = [];
  readonly statuses: { key: RevisionKey; status: ScalerStatus }[] = [];
  readonly replaced: string[] = [];
  /** Instants of `writes`, by `performance.now()`. */
  readonly writtenAt: number[] = [];
  /** Throws from the named call, to play a broken platform. */
  broken: ((call: string, key: RevisionKey) => boolean) | null = null;
  #podNumber = 0;
  readonly #objectListeners: ((key: RevisionKey) => void)[] = [];
  readonly #podListeners: ((key: RevisionKey) => void)[] = [];

  readonly objects: { -readonly [K in keyof ObjectSource]: ObjectSource[K] } = {
    list: () => [...this.revisions.values()],
    get: (key) => this.revisions.get(key),
    onChange: (listener) => void this.#objectListeners.push(listener),
  };

  readonly scale: ScaleTarget = {
    readScale: async (key) => this.#answer("readScale", key, this.replicas.get(key) ?? 0),
    listPods: async (key) => this.#answer("listPods", key, this.pods.get(key) ?? []),
    writeScale: async (request) => {
      this.#answer("writeScale", request.key, null);
      this.writes.push(request);
      this.writtenAt.push(performance.now());
      this.replicas.set(request.key, request.replicas);
      this.#fit(request);
    },
    replacePod: async (key, uid) => {
      this.replaced.push(uid);
      this.pods.set(
        key,
        this.podsOf(key).filter((pod) => pod.uid !== uid),
      );
      this.changePods(key);
    },
    onPodsChanged: (listener) => void this.#podListeners.push(listener),
  };

  readonly status: StatusSink = {
    writeStatus: async (key, status) => {
      this.statuses.push({ key, status });
    },
  };

  apply(revision: ScaledRevision, replicas = this.replicas.get(revision.key) ?? 0): void {
    this.revisions.set(revision.key, revision);
    this.replicas.set(revision.key, replicas);
    this.#fit({ key: revision.key, replicas, leaveOrder: [], decidedAt: 0, reason: "" });
    for (const listener of this.#objectListeners) listener(revision.key);
  }

  remove(key: RevisionKey): void {
    this.revisions.delete(key);
    for (const listener of this.#objectListeners) listener(key);
  }

  podsOf(key: RevisionKey = SERVICE_KEY): readonly ScaledPod[] {
    return this.pods.get(key) ?? [];
  }

  /** Changes all pods of a revision, e.g. to ready. */
  setPods(change: Partial<ScaledPod>, key: RevisionKey = SERVICE_KEY): void {
    this.pods.set(
      key,
      this.podsOf(key).map((pod) => ({ ...pod, ...change })),
    );
    this.changePods(key);
  }

  changePods(key: RevisionKey): void {
    for (const listener of this.#podListeners) listener(key);
  }

  lastStatus(key: RevisionKey = SERVICE_KEY): ScalerStatus | undefined {
    return this.statuses.findLast((entry) => entry.key === key)?.status;
  }

  #fit({ key, replicas, leaveOrder }: ScaleRequest): void {
    const leaving = [...leaveOrder];
    let pods = [...this.podsOf(key)];
    while (pods.length > replicas) {
      const uid = leaving.shift() ?? pods.at(-1)?.uid;
      pods = pods.filter((pod) => pod.uid !== uid);
    }
    while (pods.length < replicas) pods.push(this.#newPod(key));
    this.pods.set(key, pods);
  }

  #newPod(key: RevisionKey): ScaledPod {
    this.#podNumber += 1;
    return {
      uid: `uid-${this.#podNumber}`,
      name: `${key.split("/")[1] ?? ""}-${this.#podNumber}`,
      phase: "starting",
      card: "default",
      createdAt: this.#podNumber,
      failure: null,
      waitingFor: "",
    };
  }

  #answer<T>(call: string, key: RevisionKey, value: T): T {
    if (this.broken?.(call, key) === true) throw new Error(`${call} of ${key} is broken`);
    return value;
  }
}
