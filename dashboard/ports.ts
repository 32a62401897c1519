/**
 * What the dashboard needs from the process that hosts it. It only reads: whoever wires it
 * (local/presence.ts, dashboard/main.ts in a cluster) hands in functions and a part of the store.
 */
import type { Clock } from "../common/clock.ts";
import type { ActivatorFigures } from "../common/contracts/activator-figures.ts";
import type { RunRecord as AsyncRun, ServiceKey } from "../common/contracts/async-runs.ts";
import type { CellsPage } from "../common/contracts/cells-page.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RecentWorkflow } from "../store/knowledge.ts";
import type { RoutingStore, WorkflowView } from "../store/types.ts";
import type { ActivatorInfo, RunInfo, ScalerInfo, ServiceInfo } from "./facts.ts";

export type * from "./facts.ts";

export interface DashboardParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly run: RunInfo;
  /** Services as they stand now; called once per sample. */
  services(): readonly ServiceInfo[];
  readonly store: StoreReader;
  /** What the scaler last decided for a revision; undefined when it knows nothing of it. */
  scaler(key: RevisionKey): ScalerInfo | undefined;
  activators(): Promise<readonly ActivatorInfo[]> | readonly ActivatorInfo[];
  /** Totals of every activator that answers; absent: latency and errors are not shown. */
  readonly figures?: () => Promise<readonly ActivatorFigures[]>;
  /** Newest asynchronous runs of a service; absent: none are shown. */
  readonly runs?: (service: ServiceKey, most: number) => Promise<readonly AsyncRun[]>;
  /** Workflows that began last; absent: none are shown. */
  readonly workflows?: WorkflowReader;
  /** The cells of the platform; null or absent where there is one only. */
  readonly cells?: () => Promise<CellsPage | null>;
  /** All that is kept of the decisions about a revision, for `explain`; absent: nothing is told. */
  readonly records?: (key: RevisionKey) => Promise<object>;
  /** Text of `/metrics`, where the process that hosts the dashboard has figures of its own. */
  readonly metrics?: () => string;
  /** Time between two samples in ms. Default: 1000. */
  readonly sampleEveryMs?: number;
}

export interface WorkflowReader {
  /** Newest first. */
  recent(most: number): Promise<readonly RecentWorkflow[]>;
  read(workflow: RecentWorkflow): Promise<WorkflowView | null>;
}

/** The part of the routing store that the dashboard reads. */
export type StoreReader = Pick<
  RoutingStore,
  "readFigures" | "readTargets" | "readColdStarts" | "listRevisions" | "readRevision"
>;
