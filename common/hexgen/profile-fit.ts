/**
 * Keeps the profile of a card true to what its calls take: recursive least squares with
 * forgetting, over uncached prompt tokens, output tokens, and output tokens times the rest of the
 * batch. The fit is of factors on the prior, so the three features have the same scale.
 */
import type { CardProfile } from "./cost.ts";

export interface CompletedCall {
  readonly stage: string;
  readonly uncachedTokens: number;
  readonly outputTokens: number;
  /** Mean size of the batch in which it ran, itself included. */
  readonly meanBatch: number;
  /** Prefill and decode, without waiting. */
  readonly tookUs: number;
}

const FORGETTING = 0.995;
/** A factor leaves the prior by at most this much, either way. */
const LARGEST_FACTOR = 4;
/** Batch slope that a prior of 0 may still grow to. */
const LARGEST_NEW_SLOPE = 0.2;
const INITIAL_VARIANCE = 1;
/** Without new information the variance would grow for ever under forgetting. */
const LARGEST_VARIANCE = 100;
/** Weight of the newest call in the relative error of its stage. */
const ERROR_WEIGHT = 0.05;
const ALERT_ERROR = 0.3;
const ALERT_CALLS = 50;

type Vector = [number, number, number];
type Matrix = [Vector, Vector, Vector];

export interface StageError {
  /** Mean relative error of the predictions, newest calls weighing most. */
  readonly relativeError: number;
  /** True when it has been too large for long: budgets are then widened by it. */
  readonly alert: boolean;
}

/**
 * Factor on the expected time of a stage in budgets while its predictions are off for long: by their
 * error, at most twice, since one that was far too long needs no room.
 */
export function widenedBy(error: StageError | undefined): number {
  return error?.alert === true ? 1 + Math.min(error.relativeError, 1) : 1;
}

interface ErrorTrack {
  error: number;
  badCalls: number;
}

export class ProfileFit {
  readonly #prior: CardProfile;
  /** Factors on prefill time and token time of the prior, and the batch slope on the prior's token time. */
  #factors: Vector;
  #covariance: Matrix;
  #count = 0;
  readonly #errors = new Map<string, ErrorTrack>();

  constructor(prior: CardProfile) {
    this.#prior = prior;
    this.#factors = [1, 1, prior.batchSlope];
    this.#covariance = [
      [INITIAL_VARIANCE, 0, 0],
      [0, INITIAL_VARIANCE, 0],
      [0, 0, INITIAL_VARIANCE],
    ];
  }

  get count(): number {
    return this.#count;
  }

  profile(): CardProfile {
    const [prefill, token, slope] = this.#factors;
    return {
      prefillTokensPerS: this.#prior.prefillTokensPerS / prefill,
      tokenUs: this.#prior.tokenUs * token,
      batchSlope: slope / token,
    };
  }

  /** Error of the stage's predictions; 0 before any call. */
  stageError(stage: string): StageError {
    const track = this.#errors.get(stage);
    return {
      relativeError: track?.error ?? 0,
      alert: (track?.badCalls ?? 0) >= ALERT_CALLS,
    };
  }

  observe(call: CompletedCall): void {
    const features = this.#features(call);
    const scale = features[0] + features[1];
    if (scale <= 0 || call.tookUs <= 0) return;
    this.#trackError(call, dot(features, this.#factors));
    // Rows are divided by the prior's prediction: relative errors count, not those of long calls.
    const row = features.map((feature) => feature / scale) as Vector; // map keeps the length
    this.#update(row, call.tookUs / scale);
    this.#count += 1;
  }

  #features(call: CompletedCall): Vector {
    const decodeUs = call.outputTokens * this.#prior.tokenUs;
    return [
      (1e6 * call.uncachedTokens) / this.#prior.prefillTokensPerS,
      decodeUs,
      decodeUs * Math.max(call.meanBatch - 1, 0),
    ];
  }

  #update(row: Vector, observed: number): void {
    const covariance = this.#covariance;
    const spread: Vector = [
      dot(covariance[0], row),
      dot(covariance[1], row),
      dot(covariance[2], row),
    ];
    const divisor = FORGETTING + dot(row, spread);
    const surprise = (observed - dot(row, this.#factors)) / divisor;
    const [prefill, token, slope] = this.#factors;
    this.#factors = [
      clampFactor(prefill + spread[0] * surprise),
      clampFactor(token + spread[1] * surprise),
      this.#clampSlope(slope + spread[2] * surprise),
    ];
    this.#covariance = [
      shrink(covariance[0], spread, spread[0] / divisor),
      shrink(covariance[1], spread, spread[1] / divisor),
      shrink(covariance[2], spread, spread[2] / divisor),
    ];
    this.#boundVariance();
  }

  #boundVariance(): void {
    const [[a], [, b], [, , c]] = this.#covariance;
    const largest = Math.max(a, b, c);
    if (largest <= LARGEST_VARIANCE) return;
    const scale = LARGEST_VARIANCE / largest;
    for (const row of this.#covariance) for (const index of [0, 1, 2] as const) row[index] *= scale;
  }

  #clampSlope(slope: number): number {
    const prior = this.#prior.batchSlope;
    const smallest = prior / LARGEST_FACTOR;
    const largest = Math.max(prior * LARGEST_FACTOR, LARGEST_NEW_SLOPE);
    return Math.min(Math.max(slope, smallest), largest);
  }

  #trackError(call: CompletedCall, predictedUs: number): void {
    const error = Math.abs(predictedUs - call.tookUs) / call.tookUs;
    const track = this.#errors.get(call.stage) ?? { error, badCalls: 0 };
    track.error += ERROR_WEIGHT * (error - track.error);
    track.badCalls = track.error > ALERT_ERROR ? track.badCalls + 1 : 0;
    this.#errors.set(call.stage, track);
  }
}

function dot(left: Vector, right: Vector): number {
  return left[0] * right[0] + left[1] * right[1] + left[2] * right[2];
}

function shrink(row: Vector, spread: Vector, gain: number): Vector {
  return [
    (row[0] - gain * spread[0]) / FORGETTING,
    (row[1] - gain * spread[1]) / FORGETTING,
    (row[2] - gain * spread[2]) / FORGETTING,
  ];
}

function clampFactor(factor: number): number {
  return Math.min(Math.max(factor, 1 / LARGEST_FACTOR), LARGEST_FACTOR);
}
