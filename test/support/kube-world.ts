/**
 * What stands around the controller in a real cluster, played against a real API server: the
 * revision controller, the ServerlessService controller, and Deployments whose pods start and stop.
 * Acts on watches, so it costs nothing while nothing happens.
 */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { createRandom } from "../../common/random.ts";
import { apiStatus, orGone } from "../../autoscaler/kubernetes/api-client.ts";
import type { ApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import { Collection } from "../../autoscaler/kubernetes/collection.ts";
import {
  collectionPath,
  keyOf,
  objectPath,
  splitKey,
} from "../../autoscaler/kubernetes/objects.ts";
import type {
  Deployment,
  KubeObject,
  Pod,
  PodAutoscaler,
  ServerlessService,
} from "../../autoscaler/kubernetes/objects.ts";
import { systemTimers } from "../../autoscaler/timers.ts";
import { WorkQueue } from "../../autoscaler/work-queue.ts";
import { systemClock } from "../../foundation/clock.ts";
import { createLogger } from "../../foundation/logger.ts";
import { create, remove, setStatus } from "./kube-api.ts";

export interface RevisionSpec {
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly containerConcurrency?: number;
  readonly replicas?: number;
  readonly timeoutSeconds?: number;
  /** What the containers do at each start. Default: they get ready. */
  readonly start?: "ready" | "crash" | "no-image" | "unscheduled";
  readonly className?: string;
  readonly service?: string;
}

const OURS = "scaler.pilotlight.dev";
const COST = "controller.kubernetes.io/pod-deletion-cost";
const START_LABEL = "test/start";
const START_MS = 20;
const logger = createLogger({ name: "world", level: "silent" });

export class KubeWorld {
  /** Between the making of a pod and its readiness. */
  startMs = START_MS;
  /** Between the order to delete a pod and its end; a kubelet needs some time for that. */
  stopMs = 0;
  /** Answers the time for the pod of that number, in place of `startMs`. */
  startMsOf: ((pod: number) => number) | null = null;
  readonly node: string;
  readonly #client: ApiClient;
  readonly #deployments: Collection<Deployment>;
  readonly #pods: Collection<Pod>;
  readonly #networks: Collection<ServerlessService>;
  readonly #work: WorkQueue<string>;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #defined = new Set<RevisionKey>();
  #names = 0;

  constructor(client: ApiClient, node = "node-a") {
    this.#client = client;
    this.node = node;
    const shared = { client, clock: systemClock, random: createRandom(1), logger };
    const copy = <T extends KubeObject>(name: "deployments" | "pods" | "serverlessservices") =>
      new Collection<T>({ ...shared, name, path: collectionPath(name) });
    this.#deployments = copy<Deployment>("deployments");
    this.#pods = copy<Pod>("pods");
    this.#networks = copy<ServerlessService>("serverlessservices");
    this.#work = new WorkQueue({
      timers: systemTimers,
      random: createRandom(2),
      logger,
      concurrency: 16,
      run: (key) => this.#settle(key),
    });
    this.#deployments.onChange(({ key }) => this.#work.add(key));
    this.#networks.onChange(({ key }) => this.#work.add(`${key}-deployment`));
    this.#pods.onChange(({ before, after }) => {
      const { namespace = "", labels = {} } = (after ?? before)?.metadata ?? {};
      this.#work.add(`${namespace}/${labels["serving.knative.dev/revision"] ?? ""}-deployment`);
    });
  }

  async start(): Promise<void> {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: this.node, labels: {} } };
    await create(this.#client, "/api/v1/nodes", node).catch(unlessThere);
    const all = [this.#deployments, this.#pods, this.#networks];
    for (const collection of all) collection.start();
    await Promise.all(all.map((collection) => collection.listed()));
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#work.stop();
    await Promise.all([this.#deployments.stop(), this.#pods.stop(), this.#networks.stop()]);
  }

  pods(key: RevisionKey): readonly Pod[] {
    const { namespace, name } = splitKey(key);
    return [...this.#pods.values()].filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        metadata.labels?.["serving.knative.dev/revision"] === name,
    );
  }

  /** As the revision controller makes them; the same name twice fails. */
  async define(name: string, spec: RevisionSpec = {}): Promise<RevisionKey> {
    const { namespace = "default", service = name.replace(/-\d+$/, "") } = spec;
    const labels = {
      app: name,
      "serving.knative.dev/revision": name,
      "serving.knative.dev/service": service,
      "serving.knative.dev/configuration": service,
      [START_LABEL]: spec.start ?? "ready",
    };
    const annotations = {
      "autoscaling.knative.dev/class": spec.className ?? OURS,
      ...spec.annotations,
    };
    const metadata = { name, namespace, labels, annotations };
    this.#defined.add(keyOf(namespace, name));
    const revision = await this.#makeRevision(metadata, spec);
    const owner = {
      apiVersion: "serving.knative.dev/v1",
      kind: "Revision",
      name,
      controller: true,
    };
    const owned = {
      ...metadata,
      ownerReferences: [{ ...owner, uid: revision.metadata.uid ?? "" }],
    };
    await this.#makeDeployment({ ...owned, name: `${name}-deployment`, annotations: {} }, spec);
    const target = { apiVersion: "apps/v1", kind: "Deployment", name: `${name}-deployment` };
    await create(this.#client, collectionPath("podautoscalers", namespace), {
      apiVersion: "autoscaling.internal.knative.dev/v1alpha1",
      kind: "PodAutoscaler",
      metadata: owned,
      spec: {
        scaleTargetRef: target,
        protocolType: "http1",
        reachability: "Reachable",
        containerConcurrency: spec.containerConcurrency ?? 1,
      },
    });
    return keyOf(namespace, name);
  }

  /** After a test, also one that failed: what it defined is gone, and pods start as they do at first. */
  async clear(): Promise<void> {
    this.startMs = START_MS;
    this.startMsOf = null;
    this.stopMs = 0;
    const keys = [...this.#defined];
    while (keys.length > 0) await Promise.all(keys.splice(0, 50).map((key) => this.remove(key)));
  }

  /** As garbage collection does after the Revision was deleted. */
  async remove(key: RevisionKey): Promise<void> {
    const { namespace, name } = splitKey(key);
    this.#defined.delete(key);
    await remove(this.#client, objectPath("revisions", { namespace, name }));
    await remove(this.#client, objectPath("podautoscalers", { namespace, name }));
    await remove(this.#client, objectPath("serverlessservices", { namespace, name }));
    await remove(
      this.#client,
      objectPath("deployments", { namespace, name: `${name}-deployment` }),
    );
  }

  readScaler(key: RevisionKey): Promise<PodAutoscaler> {
    return this.#client.read(objectPath("podautoscalers", splitKey(key)));
  }

  async replicas(key: RevisionKey): Promise<number> {
    const { namespace, name } = splitKey(key);
    const path = objectPath("deployments", { namespace, name: `${name}-deployment` });
    return (await this.#client.read<Deployment>(path)).spec?.replicas ?? -1;
  }

  patchPod(pod: Pod, change: object): Promise<Pod> {
    const { namespace = "", name } = pod.metadata;
    const path = objectPath("pods", { namespace, name });
    return this.#client.write({ method: "PATCH", patch: "merge-patch", path, body: change });
  }

  async deletePod(pod: Pod): Promise<void> {
    const { namespace = "", name } = pod.metadata;
    const path = objectPath("pods", { namespace, name });
    const body = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 };
    await orGone(this.#client.write<unknown>({ method: "DELETE", path, body }), null);
  }

  #makeRevision(metadata: KubeObject["metadata"], spec: RevisionSpec): Promise<KubeObject> {
    const { namespace = "" } = metadata;
    return create(this.#client, collectionPath("revisions", namespace), {
      apiVersion: "serving.knative.dev/v1",
      kind: "Revision",
      metadata,
      spec: {
        containers: [{ image: "example.invalid/app" }],
        timeoutSeconds: spec.timeoutSeconds ?? 60,
        containerConcurrency: spec.containerConcurrency ?? 1,
      },
    });
  }

  async #makeDeployment(metadata: KubeObject["metadata"], spec: RevisionSpec): Promise<void> {
    const { namespace = "", labels = {} } = metadata;
    await create(this.#client, collectionPath("deployments", namespace), {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: spec.replicas ?? 1,
        selector: { matchLabels: { app: labels["app"] ?? "" } },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "user-container", image: "example.invalid/app" }] },
        },
      },
    });
  }

  async #settle(key: string): Promise<void> {
    const deployment = this.#deployments.get(key);
    const revision = keyOf(splitKey(key).namespace, splitKey(key).name.replace(/-deployment$/, ""));
    const pods = this.pods(revision);
    const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const wanted = deployment === undefined ? 0 : (deployment.spec?.replicas ?? 1);
    if (deployment !== undefined && staying.length < wanted) {
      const missing = Array.from({ length: wanted - staying.length });
      await Promise.all(missing.map(() => this.#makePod(deployment)));
    } else {
      const leaving = staying.toSorted((a, b) => costOf(a) - costOf(b));
      const surplus = leaving.slice(0, staying.length - wanted);
      await Promise.all(surplus.map((pod) => this.deletePod(pod)));
    }
    for (const pod of pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)) {
      if (this.stopMs > 0) this.#later(this.stopMs, () => this.deletePod(pod));
      else await this.deletePod(pod);
    }
    await this.#settleNetwork(revision, staying.filter(isReady).length);
  }

  async #makePod(deployment: Deployment): Promise<void> {
    const { namespace = "", labels = {}, name: owner } = deployment.metadata;
    this.#names += 1;
    const name = `${owner}-${process.pid}-${this.#names}`;
    const pod = await create<Pod>(this.#client, collectionPath("pods", namespace), {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels },
      spec: { ...this.#placement(labels), ...POD_SPEC },
    });
    const startMs = this.startMsOf?.(this.#names) ?? this.startMs;
    this.#later(startMs, () => this.#bringUp(pod, labels[START_LABEL] ?? "ready", 1));
    // A watch that has not shown it yet must not make another one.
    await untilSeen(() => this.#pods.get(keyOf(namespace, name)) !== undefined);
  }

  #placement(labels: Readonly<Record<string, string>>): { readonly nodeName?: string } {
    return labels[START_LABEL] === "unscheduled" ? {} : { nodeName: this.node };
  }

  async #bringUp(pod: Pod, how: string, attempt: number): Promise<void> {
    const { namespace = "", name } = pod.metadata;
    const path = objectPath("pods", { namespace, name });
    const set = setStatus(this.#client, path, podStatus(how, attempt));
    const isThere = await orGone(
      set.then(() => true),
      false,
    );
    if (!isThere || how === "ready" || how === "unscheduled") return;
    this.#later(this.startMs, () => this.#bringUp(pod, how, attempt + 1));
  }

  #later(ms: number, run: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run().catch(() => undefined);
    }, ms);
    this.#timers.add(timer);
  }

  async #settleNetwork(key: RevisionKey, ready: number): Promise<void> {
    const network = this.#networks.get(key);
    if (network === undefined) return;
    const { name, generation } = network.metadata;
    const status = networkStatus(name, generation ?? 0, ready);
    if (shown(network.status) === shown(status)) return;
    const path = objectPath("serverlessservices", splitKey(key));
    await orGone(setStatus<unknown>(this.#client, path, status), null);
  }
}

function shown(status: ServerlessService["status"]): string {
  const { observedGeneration = 0, conditions = [] } = status ?? {};
  const ready = conditions.find(({ type }) => type === "Ready");
  return `${observedGeneration} ${ready?.status ?? ""}`;
}

const POD_SPEC = {
  containers: [{ name: "user-container", image: "example.invalid/app" }],
  terminationGracePeriodSeconds: 1,
};

export function unlessThere(error: unknown): undefined {
  if (apiStatus(error) !== 409) throw error;
  return undefined;
}

function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ??
    false
  );
}

function costOf(pod: Pod): number {
  return Number(pod.metadata.annotations?.[COST] ?? 0);
}

async function untilSeen(isSeen: () => boolean): Promise<void> {
  for (let looks = 0; looks < 400 && !isSeen(); looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function podStatus(how: string, attempt: number): object {
  const at = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const ready = how === "ready" ? "True" : "False";
  if (how === "unscheduled") {
    const message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
    const reason = "Unschedulable";
    const scheduled = { type: "PodScheduled", status: "False", reason, message };
    return { phase: "Pending", conditions: [{ ...scheduled, lastTransitionTime: at }] };
  }
  const condition = (type: string, status: string): object => ({
    type,
    status,
    lastTransitionTime: at,
  });
  return {
    phase: how === "no-image" ? "Pending" : "Running",
    conditions: [
      condition("PodScheduled", "True"),
      condition("Initialized", "True"),
      condition("Ready", ready),
    ],
    containerStatuses: [
      { ...CONTAINER, ready: how === "ready", ...containerState(how, attempt, at) },
    ],
  };
}

const CONTAINER = { name: "user-container", image: "x", imageID: "x", restartCount: 0 };

function containerState(how: string, attempt: number, at: string): object {
  if (how === "ready") return { state: { running: { startedAt: at } } };
  if (how === "crash") {
    const terminated = { exitCode: 3, reason: "Error", message: "no such model" };
    const waiting = { reason: "CrashLoopBackOff", message: "back-off restarting failed container" };
    return { restartCount: attempt, state: { waiting }, lastState: { terminated } };
  }
  const reason = attempt % 2 === 1 ? "ErrImagePull" : "ImagePullBackOff";
  return { state: { waiting: { reason, message: "pull of example.invalid/app failed" } } };
}

function networkStatus(
  name: string,
  generation: number,
  ready: number,
): NonNullable<ServerlessService["status"]> {
  const at = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const populated =
    ready > 0
      ? ({ status: "True" } as const)
      : ({ status: "Unknown", reason: "NoHealthyBackends", message: "no endpoints" } as const);
  return {
    observedGeneration: generation,
    serviceName: name,
    privateServiceName: `${name}-private`,
    conditions: [
      { type: "Ready", ...populated, lastTransitionTime: at },
      { type: "EndpointsPopulated", ...populated, lastTransitionTime: at },
    ],
  };
}
