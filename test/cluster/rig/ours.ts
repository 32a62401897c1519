/** The parts of Pilotlight in the cluster, as their pods and their metrics show them. */
import { getObject } from "../../../scripts/cluster/kubectl.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
import { isReady } from "./services.ts";
import type { Pod } from "./services.ts";

export type Part = "activator" | "autoscaler" | "webhook" | "store" | "dashboard";

const METRICS_PORT: Readonly<Partial<Record<Part, number>>> = { activator: 8014, autoscaler: 9090 };

export async function podsOfPart(part: Part): Promise<readonly Pod[]> {
  const selector = `pilotlight.dev/part=${part}`;
  const list = await getObject<{ items: readonly Pod[] }>(
    "pods",
    "-n",
    KNATIVE_NAMESPACE,
    "-l",
    selector,
  );
  return (list?.items ?? []).filter(isReady);
}

export async function metricsOf(part: Part, { status }: Pod): Promise<string> {
  const answer = await fetch(`http://${status.podIP}:${METRICS_PORT[part]}/metrics`, {
    signal: AbortSignal.timeout(10_000),
  });
  return answer.text();
}

/** The autoscaler that decides now. */
export async function leader(): Promise<Pod> {
  for (const pod of await podsOfPart("autoscaler")) {
    const found = /^pilotlight_autoscaler_leading_shards (\d+)/m.exec(
      await metricsOf("autoscaler", pod),
    );
    if (Number(found?.[1] ?? 0) > 0) return pod;
  }
  throw new Error("No autoscaler says that it leads");
}

/** Containers that were started again, over all pods of the namespaces that serve. */
export async function restarts(): Promise<number> {
  interface Statuses {
    readonly items: readonly {
      readonly status: {
        readonly containerStatuses?: readonly { readonly restartCount: number }[];
      };
    }[];
  }
  const list = await getObject<Statuses>("pods", "-n", KNATIVE_NAMESPACE);
  const statuses = (list?.items ?? []).flatMap(({ status }) => status.containerStatuses ?? []);
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}
