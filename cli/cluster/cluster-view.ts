/** A cluster as the commands see it: objects by the API server, figures by its dashboard. */
import { readClusterServices } from "../../autoscaler/kubernetes/cluster-reader.ts";
import type {
  ClusterRevision,
  ClusterService,
} from "../../autoscaler/kubernetes/cluster-services.ts";
import type { Forwarded } from "../../autoscaler/kubernetes/port-forward.ts";
import { errorText, PlatformError } from "../../common/errors.ts";
import type { Snapshot } from "../../local/platform-types.ts";
import type { CommandContext } from "../command.ts";
import type { PlatformView, RevisionRecords, SeenService } from "../platform-view.ts";
import { forwardDashboard, openCluster } from "./open-cluster.ts";
import type { OpenCluster } from "./open-cluster.ts";

const ASK_TIMEOUT_MS = 10_000;

export async function openClusterView(context: CommandContext): Promise<PlatformView> {
  const cluster = await openCluster(context);
  const { client, systemNamespace } = cluster;
  const dashboard = lazyDashboard(cluster);
  return {
    place: `cluster ${cluster.context}`,
    services: async () => (await readClusterServices(client, systemNamespace)).map(seenService),
    snapshot: () => dashboard.ask<Snapshot>("/api/snapshot"),
    records: (key) => {
      const query = new URLSearchParams({ revision: key });
      return dashboard.ask<RevisionRecords>(`/api/records?${query.toString()}`);
    },
    cells: async () => (await dashboard.ask<Snapshot>("/api/snapshot")).cells ?? null,
    close: async () => {
      await dashboard.close();
      client.close();
    },
  };
}

function seenService({ revisions, ...service }: ClusterService): SeenService {
  return { ...service, rollout: null, revisions: revisions.map(seenRevision) };
}

function seenRevision({ image, ...revision }: ClusterRevision): SeenService["revisions"][number] {
  return { ...revision, command: image };
}

interface Dashboard {
  ask<T>(path: string): Promise<T>;
  close(): Promise<void>;
}

/** Forwarded at the first question: much can be said without it. */
function lazyDashboard(cluster: OpenCluster): Dashboard {
  let opened: Promise<Forwarded> | undefined;
  return {
    ask: async <T>(path: string) => {
      opened ??= forwardDashboard(cluster);
      const { url } = await opened;
      try {
        const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
        const response = await fetch(`${url}${path}`, { signal });
        if (!response.ok) throw new Error(`status ${response.status}`);
        // Answered by a dashboard of the same version.
        return (await response.json()) as T;
      } catch (cause) {
        const may = "May you forward ports of pods there? `pilotlight doctor --cluster` says.";
        const text = `The dashboard of the cluster does not answer: ${errorText(cause)}. ${may}`;
        throw new PlatformError("ERR_UPSTREAM", text, { cause });
      }
    },
    close: async () => {
      const forwarded = await opened?.catch(() => undefined);
      await forwarded?.close();
    },
  };
}
