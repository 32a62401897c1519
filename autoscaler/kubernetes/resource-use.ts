/**
 * CPU and memory of ready pods in % of what they ask for, from the kubelets' own figures through
 * the API server. Read only for revisions that scale by them, and never waited for: an answer is
 * what was last read.
 */
import type { Clock } from "../../common/clock.ts";
import { errorText } from "../../common/errors.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { parseQuantity } from "../../common/quantity.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { ResourceUseSource } from "../ports.ts";
import type { ApiClient } from "./api-client.ts";
import { parseResourcePage } from "./resource-page.ts";
import type { PodUse } from "./resource-page.ts";
import type { Pod } from "./objects.ts";

export interface ResourceUseOptions {
  readonly client: ApiClient;
  readonly readyPods: (key: RevisionKey) => readonly Pod[];
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Sample extends PodUse {
  readonly at: number;
}

/** Kubelet's own figures are this old at times; asking more often tells nothing new. */
const READ_EVERY_MS = 10_000;
const SIDECAR = "queue-proxy";

export class ResourceUse implements ResourceUseSource {
  readonly #options: ResourceUseOptions;
  /** By `namespace/name` of the pod. */
  readonly #samples = new Map<string, Sample[]>();
  readonly #readAt = new Map<string, number>();

  constructor(options: ResourceUseOptions) {
    this.#options = options;
  }

  async meanPercent(
    key: RevisionKey,
    metric: "cpu" | "memory",
    windowMs: number,
  ): Promise<number | null> {
    const pods = this.#options.readyPods(key);
    for (const node of new Set(pods.map(({ spec }) => spec?.nodeName ?? ""))) {
      if (node !== "") this.#readSoon(node, windowMs);
    }
    const shares = pods.flatMap((pod) => {
      const share = this.#share(pod, metric, windowMs);
      return share === null ? [] : [share];
    });
    return shares.length === 0 ? null : mean(shares) * 100;
  }

  #share(pod: Pod, metric: "cpu" | "memory", windowMs: number): number | null {
    const asked = requestOf(pod, metric);
    if (asked === 0) return null;
    const { namespace = "", name } = pod.metadata;
    const since = this.#options.clock.now() - windowMs - READ_EVERY_MS;
    const samples = (this.#samples.get(`${namespace}/${name}`) ?? []).filter((it) => it.at > since);
    const [first, last] = [samples[0], samples.at(-1)];
    if (first === undefined || last === undefined) return null;
    if (metric === "memory") return mean(samples.map((it) => it.memoryBytes)) / asked;
    // A container that was started again takes its time out of the sum.
    const usedSeconds = Math.max(0, last.cpuSeconds - first.cpuSeconds);
    return last.at > first.at ? usedSeconds / ((last.at - first.at) / 1_000) / asked : null;
  }

  #readSoon(node: string, windowMs: number): void {
    const { clock, client, logger } = this.#options;
    const now = clock.now();
    if (now - (this.#readAt.get(node) ?? Number.NEGATIVE_INFINITY) < READ_EVERY_MS) return;
    this.#readAt.set(node, now);
    const path = `/api/v1/nodes/${encodeURIComponent(node)}/proxy/metrics/resource`;
    client
      .readText(path)
      .then((text) => this.#note(text, windowMs))
      .catch((error: unknown) => {
        logger.warn("use of a node's pods not read", { node, error: errorText(error) });
      });
  }

  #note(text: string, windowMs: number): void {
    const now = this.#options.clock.now();
    for (const [pod, use] of parseResourcePage(text, SIDECAR)) {
      const samples = (this.#samples.get(pod) ?? []).filter(({ at }) => at > now - 2 * windowMs);
      if (use.at === samples.at(-1)?.at) continue;
      this.#samples.set(pod, [...samples, { ...use, at: use.at || now }]);
    }
    for (const [pod, samples] of this.#samples) {
      if ((samples.at(-1)?.at ?? 0) < now - 2 * windowMs - READ_EVERY_MS) this.#samples.delete(pod);
    }
  }
}

/** Cores or bytes over all containers but the sidecar; what has only a limit asks for that. */
function requestOf(pod: Pod, metric: "cpu" | "memory"): number {
  const containers = (pod.spec?.containers ?? []).filter(({ name }) => name !== SIDECAR);
  return containers.reduce((sum, { resources = {} }) => {
    const asked = resources.requests?.[metric] ?? resources.limits?.[metric];
    return sum + (parseQuantity(asked) ?? 0);
  }, 0);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
