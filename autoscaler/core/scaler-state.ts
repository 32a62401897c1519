/**
 * What the scaler of one revision remembers between ticks, and across restarts as text in the
 * store. Instants are the store's, in ms.
 */
import type { ActivatorState } from "./activators.ts";
import type { ActivationFailure } from "../../common/contracts/routing.ts";
import type { Condition } from "./condition-types.ts";
import { Cooldown } from "./cooldown.ts";
import type { CooldownEntry } from "./cooldown.ts";
import type { KpaState } from "./kpa/kpa.ts";

const VERSION = 1;

/** A start under way: pods were asked for and none has been ready since. */
export interface Activation {
  readonly sinceMs: number;
  /** The progress deadline has passed; the start holds nothing up any more. */
  readonly exceeded: boolean;
}

export interface ScalerState {
  readonly cooldown: Cooldown;
  readonly lastBurstAtMs: number | null;
  readonly kpa: KpaState | null;
  readonly initialised: boolean;
  readonly activation: Activation | null;
  /** End of the latest start: the first sight of a ready pod. */
  readonly startedAtMs: number | null;
  readonly zeroSinceMs: number | null;
  readonly failure: ActivationFailure | null;
  readonly conditions: readonly Condition[];
  /** Annotations that were last read without a fault. */
  readonly goodAnnotations: Readonly<Record<string, string>> | null;
  /** Null before the first decision. */
  readonly activators: ActivatorState | null;
  /** Want that held when an earlier leader stopped; entered once more by the first decision. */
  readonly resumedWant: number | null;
}

interface StoredState extends Omit<ScalerState, "cooldown" | "resumedWant"> {
  readonly version: typeof VERSION;
  readonly cooldown: readonly CooldownEntry[];
}

export function emptyState(): ScalerState {
  return {
    cooldown: new Cooldown(),
    lastBurstAtMs: null,
    kpa: null,
    initialised: false,
    activation: null,
    startedAtMs: null,
    zeroSinceMs: null,
    failure: null,
    conditions: [],
    goodAnnotations: null,
    activators: null,
    resumedWant: null,
  };
}

export function encodeState(state: ScalerState): string {
  const { resumedWant: _resumedWant, cooldown, ...rest } = state;
  const stored: StoredState = { ...rest, version: VERSION, cooldown: cooldown.toEntries() };
  return JSON.stringify(stored);
}

/** `null` for text that is missing, broken or of another version: the state counts as lost. */
export function decodeState(text: string | null): ScalerState | null {
  if (text === null) return null;
  try {
    // Written by encodeState of this version only; anything else fails the checks below.
    const stored = JSON.parse(text) as Partial<StoredState> | null;
    if (stored?.version !== VERSION || !Array.isArray(stored.cooldown)) return null;
    const { version: _version, cooldown, ...rest } = stored;
    // The newest want held until nobody knows when: entering it again lengthens a cooldown at most
    // once and never shortens it.
    const resumedWant = cooldown.at(-1)?.[1] ?? null;
    return { ...emptyState(), ...rest, cooldown: new Cooldown(cooldown), resumedWant };
  } catch {
    return null;
  }
}

/**
 * What of a state deserves writing. The instant of the newest want does not: it moves at every tick
 * and is entered again after a restart anyway.
 */
export interface StateMark {
  readonly state: ScalerState;
  readonly wants: string;
}

export function markState(state: ScalerState): StateMark {
  const entries = state.cooldown.toEntries();
  const older = entries.slice(0, -1).map(([atMs, want]) => `${atMs}:${want}`);
  return { state, wants: [...older, entries.at(-1)?.[1] ?? ""].join() };
}

/** A burst that goes on moves its instant at every tick; this much of it may be lost. */
const BURST_PRECISION_MS = 10_000;

export function isSameMark(left: StateMark, right: StateMark): boolean {
  const [before, now] = [essence(left), essence(right)];
  return before.every((value, index) => value === now[index]);
}

/** What is compared: plain values, and lists that are replaced when they change. */
function essence({ state, wants }: StateMark): readonly unknown[] {
  const { activation, activators, failure, kpa, lastBurstAtMs } = state;
  return [
    wants,
    state.initialised,
    state.startedAtMs,
    state.zeroSinceMs,
    state.conditions,
    state.goodAnnotations,
    activation?.sinceMs,
    activation?.exceeded,
    failure?.reason,
    JSON.stringify(activators),
    kpa === null ? null : JSON.stringify(kpa),
    lastBurstAtMs === null ? null : Math.floor(lastBurstAtMs / BURST_PRECISION_MS),
  ];
}
