/** What commands look at, be it on this machine or a cluster; the choice is made once, here. */
import type { ClusterPod } from "../autoscaler/kubernetes/cluster-services.ts";
import type { CellsPage } from "../common/contracts/cells-page.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { RevisionKnowledge } from "../common/hexgen/knowledge.ts";
import type { DecisionRecord } from "../local/decision-words.ts";
import type { RevisionSummary, ServiceSummary, Snapshot } from "../local/platform-types.ts";
import { openRunReader } from "../local/run-reader.ts";
import { readCells } from "./cells/read-cells.ts";
import { wantsCluster } from "./cluster/cluster-option.ts";
import type { CommandContext } from "./command.ts";
import { readSnapshot } from "./control-client.ts";
import { findPlatform, readStatus } from "./run-client.ts";

/** A pod as both kinds of place know it. */
export type SeenPod = Pick<ClusterPod, "name" | "phase" | "createdAt" | "restarts" | "address">;

export type SeenRevision = Omit<RevisionSummary, "pods"> & { readonly pods: readonly SeenPod[] };

export type SeenService = Omit<ServiceSummary, "file" | "conditions" | "revisions"> & {
  /** Where it came from; absent in a cluster. */
  readonly file?: string;
  readonly conditions: readonly Readonly<
    Record<"type" | "status" | "reason" | "message", string>
  >[];
  readonly revisions: readonly SeenRevision[];
};

export interface RevisionRecords {
  /** Oldest first. */
  readonly decisions: readonly DecisionRecord[];
  readonly learnt?: RevisionKnowledge | undefined;
}

export interface PlatformView {
  /** In words. */
  readonly place: string;
  services(): Promise<readonly SeenService[]>;
  /** What the dashboard shows at this moment. */
  snapshot(): Promise<Snapshot>;
  records(key: RevisionKey): Promise<RevisionRecords>;
  /** What is known of other cells; null or absent where there is one cell only. */
  cells?(): Promise<CellsPage | null>;
  close(): Promise<void>;
}

/** Opens what the options name, and closes it whatever happens. */
export async function withPlatform<T>(
  context: CommandContext,
  work: (view: PlatformView) => Promise<T>,
): Promise<T> {
  const view = wantsCluster(context) ? await openCluster(context) : await openLocal(context);
  try {
    return await work(view);
  } finally {
    await view.close();
  }
}

/** Loaded only here: on this machine nobody waits for the Kubernetes client. */
async function openCluster(context: CommandContext): Promise<PlatformView> {
  const { openClusterView } = await import("./cluster/cluster-view.ts");
  return openClusterView(context);
}

async function openLocal(context: CommandContext): Promise<PlatformView> {
  const platform = await findPlatform(context);
  return {
    place: platform.folder,
    services: async () => (await readStatus(platform)).services,
    snapshot: () => readSnapshot(platform),
    records: async (key) => {
      const reader = await openRunReader(platform.run);
      try {
        return { decisions: await reader.decisions(key), learnt: await reader.knowledge(key) };
      } finally {
        await reader.close();
      }
    },
    cells: () => readCells(platform.run),
    close: () => Promise.resolve(),
  };
}
