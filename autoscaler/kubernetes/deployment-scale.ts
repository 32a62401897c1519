/**
 * Replica counts through the `/scale` of a Deployment, and the pods that it has. What was written is
 * remembered until the watch has caught up, and nothing is answered from copies that may be stale.
 */
import { errorText, PlatformError } from "../../common/errors.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { GonePod, ScaledPod, ScaleRequest, ScaleTarget } from "../ports.ts";
import { apiStatus, orGone } from "./api-client.ts";
import type { ApiClient } from "./api-client.ts";
import type { Collection } from "./collection.ts";
import { deletionCosts } from "./deletion-costs.ts";
import { keyOf, objectPath, splitKey } from "./objects.ts";
import type { Deployment, Pod, PodAutoscaler, Scale } from "./objects.ts";
import type { PodIndex } from "./pod-index.ts";

export interface DeploymentScaleOptions {
  readonly client: ApiClient;
  readonly scalers: Collection<PodAutoscaler>;
  readonly deployments: Collection<Deployment>;
  readonly pods: PodIndex;
  /** Milliseconds since the copies of pods and deployments were last known to be whole. */
  readonly ageMs: () => number;
  readonly logger: Logger;
}

interface Written {
  readonly replicas: number;
  /** Of the deployment that the write made. */
  readonly version: bigint;
}

/** Older copies decide nothing (bar). */
export const STALE_MS = 60_000;
const COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost";
/** Calls for one revision at the same time. */
const CALLS_AT_ONCE = 16;

export class DeploymentScale implements ScaleTarget {
  readonly #options: DeploymentScaleOptions;
  readonly #written = new Map<RevisionKey, Written>();

  constructor(options: DeploymentScaleOptions) {
    this.#options = options;
  }

  async readScale(key: RevisionKey): Promise<number> {
    this.#mustBeFresh();
    const deployment = this.#deployment(key);
    if (deployment === undefined) return 0;
    const written = this.#written.get(key);
    if (written !== undefined && versionOf(deployment) < written.version) return written.replicas;
    this.#written.delete(key);
    return deployment.spec?.replicas ?? 1;
  }

  async writeScale(request: ScaleRequest): Promise<void> {
    const { key, replicas } = request;
    const { client, logger } = this.#options;
    if (this.#deployment(key) === undefined) return;
    await this.#markLeavers(request).catch((error: unknown) =>
      logger.warn("deletion costs not set", { key, error: errorText(error) }),
    );
    const scale = await orGone(
      client.write<Scale | null>({
        method: "PATCH",
        patch: "json-patch",
        path: `${objectPath("deployments", this.#deploymentName(key))}/scale`,
        body: [{ op: "add", path: "/spec/replicas", value: replicas }],
      }),
      null,
    );
    if (scale !== null) this.#written.set(key, { replicas, version: versionOf(scale) });
  }

  async listPods(key: RevisionKey): Promise<readonly ScaledPod[]> {
    this.#mustBeFresh();
    return this.#options.pods.list(key);
  }

  async replacePod(key: RevisionKey, uid: string): Promise<void> {
    const pod = this.#options.pods.find(key, uid);
    if (pod === undefined) return;
    await this.deletePod(pod);
  }

  /** By name and uid, so that never another one of the same name is hit. */
  async deletePod(pod: Pod): Promise<void> {
    const { namespace = "", name, uid = "" } = pod.metadata;
    await this.#options.client
      .write({
        method: "DELETE",
        path: objectPath("pods", { namespace, name }),
        body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid } },
      })
      .catch((error: unknown) => {
        // Gone already, or somebody else has its name by now.
        if (![404, 409].includes(apiStatus(error))) throw error;
      });
  }

  onPodsChanged(listener: (key: RevisionKey) => void): void {
    this.#options.pods.onPodsChanged(listener);
  }

  /** Of pods that the copy lacks, those that are gone for sure: a late watch must bury nobody. */
  async confirmGone(key: RevisionKey, absent: readonly GonePod[]): Promise<ReadonlySet<string>> {
    const { pods } = this.#options;
    const gone = new Set(absent.map(({ uid }) => uid).filter((uid) => pods.hasDeparted(uid)));
    const open = absent.filter(({ uid }) => !gone.has(uid));
    await inTurns(open, async (pod) => {
      if (await this.#isGone(splitKey(key).namespace, pod)) gone.add(pod.uid);
    });
    return gone;
  }

  /** Forgets what is remembered of revisions that are gone. */
  prune(exists: (key: RevisionKey) => boolean): void {
    for (const key of this.#written.keys()) {
      if (!exists(key)) this.#written.delete(key);
    }
  }

  async #isGone(namespace: string, { uid, podName: name }: GonePod): Promise<boolean> {
    if (name === "") return true;
    const path = objectPath("pods", { namespace, name });
    const pod = await orGone(this.#options.client.read<Pod | null>(path), null);
    return pod === null || pod.metadata.uid !== uid;
  }

  #mustBeFresh(): void {
    const ageMs = this.#options.ageMs();
    if (ageMs <= STALE_MS) return;
    const seconds = Number.isFinite(ageMs) ? `${Math.round(ageMs / 1_000)} s ago` : "never";
    throw new PlatformError(
      "ERR_API_UNAVAILABLE",
      `The list of pods was last confirmed ${seconds}; nothing is scaled on it.`,
      { details: { status: 0 } },
    );
  }

  #deployment(key: RevisionKey): Deployment | undefined {
    const { namespace, name } = this.#deploymentName(key);
    return this.#options.deployments.get(keyOf(namespace, name));
  }

  #deploymentName(key: RevisionKey): { readonly namespace: string; readonly name: string } {
    const { namespace, name } = splitKey(key);
    const target = this.#options.scalers.get(key)?.spec?.scaleTargetRef?.name;
    return { namespace, name: target ?? `${name}-deployment` };
  }

  /** So that the ReplicaSet takes those whom the controller would: best effort, by its own cache. */
  async #markLeavers({ key, replicas, leaveOrder }: ScaleRequest): Promise<void> {
    const costs = deletionCosts(leaveOrder, replicas);
    const changes = [...costs].flatMap(([uid, cost]) => {
      const pod = this.#options.pods.find(key, uid);
      if (pod === undefined) return [];
      const present = pod.metadata.annotations?.[COST_ANNOTATION] ?? "0";
      return present === String(cost) ? [] : [{ pod, cost }];
    });
    await inTurns(changes, async ({ pod, cost }) => {
      const { namespace = "", name, uid } = pod.metadata;
      const call = this.#options.client.write({
        method: "PATCH",
        patch: "merge-patch",
        path: objectPath("pods", { namespace, name }),
        body: { metadata: { uid, annotations: { [COST_ANNOTATION]: String(cost) } } },
      });
      await orGone(call, null);
    });
  }
}

async function inTurns<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(CALLS_AT_ONCE, rest.length) }, worker));
}

/** Versions are counted by one counter of the server, so a later one is larger. */
function versionOf({ metadata }: Deployment | Scale): bigint {
  const text = metadata.resourceVersion ?? "";
  return /^\d+$/.test(text) ? BigInt(text) : 0n;
}
