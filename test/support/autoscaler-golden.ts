/** Rows of the stock autoscaler's golden file, typed as far as the tests read them. */
import { readFileSync } from "node:fs";

export interface GoldenSpec {
  readonly activationScale: number;
  readonly aggregation?: string;
  readonly initialScale: number;
  readonly maxScaleDownRate: number;
  readonly maxScaleUpRate: number;
  readonly panicThreshold: number;
  readonly panicWindowSeconds?: number;
  readonly reachable: boolean;
  readonly scaleDownDelaySeconds: number;
  readonly scalingMetric: "concurrency" | "rps";
  readonly stableWindowSeconds: number;
  readonly targetBurstCapacity: number;
  readonly activatorCapacity: number;
  readonly targetValue: number;
  readonly totalValue: number;
}

export interface GoldenDecider {
  readonly id: string;
  readonly name: string;
  readonly annotations: Record<string, string>;
  readonly configAutoscaler: Record<string, string>;
  readonly containerConcurrency: number;
  readonly reachability: string;
  readonly expected: GoldenSpec & { readonly minScale: number; readonly maxScale: number };
}

export interface GoldenTick {
  readonly id: string;
  readonly name: string;
  readonly spec: GoldenSpec;
  readonly observed: { readonly stable?: number; readonly panic?: number; readonly noData?: true };
  readonly readyPods: number | "error";
  readonly expected: {
    readonly scaleValid: boolean;
    readonly desiredPodCount?: number;
    readonly excessBurstCapacity?: number;
    readonly maxPanicPods?: number;
    readonly panicking?: boolean;
  };
}

export interface GoldenSeriesRow {
  readonly t: number;
  readonly ready: number;
  readonly noData?: boolean;
  readonly valid?: boolean;
  readonly stable?: number;
  readonly panic?: number;
  readonly desired?: number;
  readonly ebc?: number;
  readonly panicking?: boolean;
  readonly maxPanicPods?: number;
}

export interface GoldenSeries {
  readonly id: string;
  readonly name: string;
  readonly annotations: Record<string, string>;
  readonly configAutoscaler: Record<string, string>;
  readonly containerConcurrency: number;
  readonly hasScrapeTarget: boolean;
  readonly reachability: string;
  readonly readyAtCreation: number;
  readonly samples: readonly { readonly seconds: number; readonly value: number | null }[];
  readonly spec: GoldenSpec;
  readonly ticks: readonly GoldenSeriesRow[];
}

export interface GoldenFile {
  readonly decider: readonly GoldenDecider[];
  readonly scaleTick: readonly GoldenTick[];
  readonly series: readonly GoldenSeries[];
  readonly initialDecider: readonly {
    readonly id: string;
    readonly targetBurstCapacity: number;
    readonly totalValue: number;
    readonly initialScale: number;
    readonly expected: { readonly desiredScale: number; readonly excessBurstCapacity: number };
  }[];
  readonly windowAverage: readonly {
    readonly id: string;
    readonly name: string;
    readonly algorithm: "linear" | "weighted-exponential";
    readonly windowSeconds: number;
    readonly records: readonly { readonly t: number; readonly value: number }[];
    readonly queries: readonly {
      readonly t: number;
      readonly average: number;
      readonly empty: boolean;
    }[];
  }[];
  readonly delayWindow: readonly {
    readonly id: string;
    readonly name: string;
    readonly delaySeconds: number;
    readonly rows: readonly {
      readonly t: number;
      readonly value: number;
      readonly current: number;
    }[];
  }[];
  readonly numActivators: readonly {
    readonly id: string;
    readonly readyPods: number;
    readonly totalValue: number;
    readonly targetBurstCapacity: number;
    readonly activatorCapacity: number;
    readonly expected: number;
  }[];
  readonly activeCondition: readonly {
    readonly id: string;
    readonly name: string;
    readonly annotations: Record<string, string>;
    readonly configAutoscaler: Record<string, string>;
    readonly before: {
      readonly active: "True" | "False" | "Unknown";
      readonly scaleTargetInitialized: boolean;
      readonly serviceName: string;
    };
    readonly reachability: string;
    readonly ready: number;
    readonly want: number;
    readonly expected: {
      readonly active: string;
      readonly reason: string;
      readonly scaleTargetInitialized: string;
    };
  }[];
  readonly scaleTarget: readonly {
    readonly id: string;
    readonly name: string;
    readonly activatorProbe: "" | "ok" | "fail" | "error";
    readonly active: {
      readonly status: "True" | "False" | "Unknown";
      readonly secondsInStatus: number;
    };
    readonly annotations: Record<string, string>;
    readonly configAutoscaler: Record<string, string>;
    readonly configDeployment: Record<string, string>;
    readonly currentReplicas: number;
    readonly deciderDesired: number;
    readonly reachability: string;
    readonly scaleTargetInitialized: boolean;
    readonly sks: { readonly mode: string; readonly proxySeconds: number };
    readonly expected: {
      readonly asyncProbes: number;
      readonly syncProbes: number;
      readonly patchReplicas: number | null;
      readonly requeueAfterSeconds: readonly number[];
      readonly want: number;
    };
  }[];
}

export const golden = JSON.parse(
  readFileSync(new URL("../fixtures/kpa-golden.json", import.meta.url), "utf8"),
) as GoldenFile;

/** `window` to `autoscaling.knative.dev/window`. */
export function withPrefix(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, text]) => [`autoscaling.knative.dev/${key}`, text]),
  );
}

/** One value per second, from t = 1. */
export function secondsOf(series: GoldenSeries): (number | null)[] {
  return series.samples.flatMap(({ seconds, value }) =>
    Array.from({ length: seconds }, () => value),
  );
}
