/** Builders for decisions: a load history from in-flight counts, inputs with sensible values. */
import { decide } from "../../autoscaler/core/decision.ts";
import type { Decision, DecisionInputs } from "../../autoscaler/core/decision.ts";
import { emptyState } from "../../autoscaler/core/scaler-state.ts";
import type { ScalerState } from "../../autoscaler/core/scaler-state.ts";
import { PLATFORM_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import type { ClusterDefaults } from "../../autoscaler/core/settings/defaults.ts";
import { readSettings } from "../../autoscaler/core/settings/settings.ts";
import type { RevisionSettings } from "../../autoscaler/core/settings/types.ts";
import { LoadHistory } from "../../autoscaler/core/windows.ts";
import { STOCK_KEYS } from "../../common/contracts/annotations.ts";

/** A store clock far from zero, in ms. */
export const BASE_MS = 1_700_000_000_000;

/** Short names, e.g. `window` or `cooldown`, to full keys. */
export function fullKeys(short: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(short).map(([key, text]) => [
      Object.hasOwn(STOCK_KEYS, key) ? `autoscaling.knative.dev/${key}` : `pilotlight.dev/${key}`,
      text,
    ]),
  );
}

export function settingsOf(
  short: Record<string, string> = {},
  rest: { containerConcurrency?: number; defaults?: ClusterDefaults } = {},
): RevisionSettings {
  const { settings, errors } = readSettings(
    {
      annotations: fullKeys(short),
      containerConcurrency: rest.containerConcurrency ?? 1,
      requestsGpu: true,
    },
    rest.defaults ?? PLATFORM_DEFAULTS,
  );
  if (errors.length > 0) throw new Error(errors.join("\n"));
  return settings;
}

/** Running totals fed by constant stretches; instants in s from BASE_MS. */
export class LoadFeed {
  readonly history = new LoadHistory();
  #integral = 0;
  #arrivals = 0;
  #seconds = 0;
  readonly #windowMs: number;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
    this.#record();
  }

  get nowMs(): number {
    return BASE_MS + this.#seconds * 1_000;
  }

  /** `seconds` of a constant count in flight and of a constant rate, a sample each second. */
  run(seconds: number, inFlight: number, rate = 0): void {
    for (let left = seconds; left > 0; left -= 1) {
      const step = Math.min(1, left);
      this.#seconds += step;
      this.#integral += inFlight * step * 1_000_000;
      this.#arrivals += rate * step;
      this.#record();
    }
  }

  #record(): void {
    const at = (BASE_MS + this.#seconds * 1_000) * 1_000;
    this.history.record(
      { at, concurrencyIntegral: this.#integral, arrivals: this.#arrivals },
      this.#windowMs,
    );
  }
}

export function initialisedState(changes: Partial<ScalerState> = {}): ScalerState {
  return { ...emptyState(), initialised: true, ...changes };
}

export function readyPods(count: number): DecisionInputs["pods"] {
  return Array.from({ length: count }, (_, index) => ({ uid: `pod-${index}`, failure: null }));
}

/** An idle, initialised revision at zero with a whole window seen. */
export function decisionInputs(changes: Partial<DecisionInputs> = {}): DecisionInputs {
  const settings = changes.settings ?? settingsOf();
  const feed = new LoadFeed(settings.windowMs);
  feed.run(settings.windowMs / 1_000, 0);
  return {
    nowMs: feed.nowMs,
    settings,
    defaults: PLATFORM_DEFAULTS,
    reachable: true,
    trafficShare: null,
    serviceKnown: true,
    history: feed.history,
    resourcePercent: null,
    busy: 0,
    waiting: 0,
    aged: 0,
    oldestArrivedAtMs: 0,
    readyPods: 0,
    pods: [],
    currentReplicas: 0,
    state: initialisedState(),
    ...changes,
  };
}

/** A whole window of constant load, then one decision. */
export function decideSteady(
  settings: RevisionSettings,
  load: { readonly inFlight?: number; readonly rate?: number },
  changes: Partial<DecisionInputs> = {},
): Decision {
  const feed = new LoadFeed(settings.windowMs);
  feed.run(settings.windowMs / 1_000, load.inFlight ?? 0, load.rate ?? 0);
  return decide(decisionInputs({ settings, history: feed.history, nowMs: feed.nowMs, ...changes }));
}
