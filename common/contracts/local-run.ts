/**
 * Files of a local run folder that one process writes and another reads. All are replaced
 * atomically (write beside, rename), so a reader never sees half of one.
 */

/** `routes.json`: which host names which revision. Written by the platform, watched by activators. */
export interface RouteTable {
  readonly generation: number;
  readonly routes: readonly RouteEntry[];
}

export interface RouteEntry {
  /** Host without port, lower case: `echo.default.localhost`. */
  readonly host: string;
  readonly namespace: string;
  readonly service: string;
  /** Percentages sum to 100. */
  readonly targets: readonly RouteTarget[];
}

export interface RouteTarget {
  readonly revision: string;
  readonly percent: number;
}

/** `pods/<uid>.json`: the pod as the platform made it; the activator reads it at the first push. */
export interface PodRecord {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly service: string;
  readonly configuration: string;
  readonly revision: string;
  /** Address of the sidecar, in 127.0.0.0/8. */
  readonly address: string;
  /** Card name from the first `gpu-preference`, else `default`. */
  readonly card: string;
  /** Instants in ms since the epoch, with fractions. */
  readonly decidedAt: number;
  readonly spawnedAt: number;
}

/** `run.json`: how to reach a running platform; what the command line looks for. */
export interface RunRecord {
  readonly pid: number;
  readonly startedAt: number;
  /** Base URL on which every service answers (by Host), e.g. `http://127.0.0.1:8080`. */
  readonly ingressUrl: string;
  readonly dashboardUrl: string;
  readonly storeUrl: string;
  /** What all keys of this run begin with. */
  readonly storePrefix?: string;
  /** Process of the store when the platform started it; 0 or absent otherwise. */
  readonly storePid?: number;
  readonly activators: readonly ActivatorRecord[];
  /** Unix socket on which `apply` and `delete` are taken. */
  readonly controlSocket?: string;
  readonly files: readonly string[];
  /** Name of the cell that this run is, where it is one of several. */
  readonly cell?: string;
}

export interface ActivatorRecord {
  readonly id: string;
  readonly pid: number;
  /** Its own data port, beside the shared one. */
  readonly url: string;
  /** Push and admin side, `host:port`. */
  readonly push: string;
  /** For other cells, `host:port`; absent where there are none. */
  readonly peer?: string;
}
