/**
 * Reads single annotations: finds the key (live keys of the Service first, older spellings last),
 * checks type and range, reports faults, and answers the default where a value is missing or bad.
 */
import { OWN_KEYS, STOCK_KEYS, ownKey, stockKey } from "../../../common/contracts/annotations.ts";
import type { OwnKey, StockKey } from "../../../common/contracts/annotations.ts";
import { isWholeSeconds, parseDuration } from "./duration.ts";
import type { Problems } from "./problems.ts";

export const MAX_INT32 = 2_147_483_647;

/** An annotation as found: the full key for messages, and its text. */
export interface Found {
  readonly path: string;
  readonly text: string;
}

export interface DurationLimits {
  readonly boundsMs: readonly [number, number];
  readonly fallbackMs: number;
  /** Annotations that stock keeps in whole seconds. */
  readonly wholeSeconds?: boolean;
}

type Annotations = Readonly<Record<string, string>>;

export class SettingsReader {
  readonly problems: Problems;
  readonly #revision: Annotations;
  readonly #service: Annotations;

  constructor(revision: Annotations, service: Annotations, problems: Problems) {
    this.#revision = revision;
    this.#service = service;
    this.problems = problems;
  }

  stock(key: StockKey): Found | null {
    const path = stockKey(key);
    const text = this.#revision[path];
    if (text !== undefined) return { path, text };
    const alias = STOCK_KEYS[key];
    if (alias === null) return null;
    const aliasPath = `autoscaling.knative.dev/${alias}`;
    const aliasText = this.#revision[aliasPath];
    return aliasText === undefined ? null : { path: aliasPath, text: aliasText };
  }

  own(key: OwnKey): Found | null {
    const path = ownKey(key);
    const live = OWN_KEYS[key] === "live" ? this.#service[path] : undefined;
    const text = live ?? this.#revision[path];
    return text === undefined ? null : { path, text };
  }

  serving(path: string): Found | null {
    const text = this.#service[path] ?? this.#revision[path];
    return text === undefined ? null : { path, text };
  }

  integer(found: Found | null, bounds: readonly [number, number], fallback: number): number {
    if (found === null) return fallback;
    if (!/^[+-]?\d+$/.test(found.text)) {
      this.problems.invalid(found.text, found.path);
      return fallback;
    }
    const value = Number(found.text);
    if (value >= bounds[0] && value <= bounds[1]) return value;
    this.problems.outOfBounds(found.text, bounds, found.path);
    return fallback;
  }

  number(found: Found | null, bounds: readonly [number, number], fallback: number): number {
    const value = this.anyNumber(found);
    if (found === null || value === null) return fallback;
    if (value >= bounds[0] && value <= bounds[1]) return value;
    this.problems.outOfBounds(found.text, bounds, found.path);
    return fallback;
  }

  /** A number of any size, or `null` where there is none (a fault is reported). */
  anyNumber(found: Found | null): number | null {
    if (found === null) return null;
    const value = parseNumber(found.text);
    if (value === null) this.problems.invalid(found.text, found.path);
    return value;
  }

  durationMs(found: Found | null, limits: DurationLimits): number {
    if (found === null) return limits.fallbackMs;
    const value = parseDuration(found.text);
    if (value === null) {
      this.problems.invalid(found.text, found.path);
      return limits.fallbackMs;
    }
    const [low, high] = limits.boundsMs;
    if (value < low || value > high) {
      this.problems.durationOutOfBounds(value, limits.boundsMs, found.path);
      return limits.fallbackMs;
    }
    if (limits.wholeSeconds === true && !isWholeSeconds(value)) {
      this.problems.add("must be specified with at most second precision", found.path);
      return limits.fallbackMs;
    }
    return value;
  }

  /** One of a closed list; `details` name the list where the bare message would leave one guessing. */
  word<const T extends string>(
    found: Found | null,
    words: readonly T[],
    fallback: T,
    details?: string,
  ): T {
    if (found === null) return fallback;
    const word = words.find((candidate) => candidate === found.text);
    if (word !== undefined) return word;
    this.problems.invalid(found.text, found.path, details);
    return fallback;
  }
}

/** A plain decimal number; `null` for everything else, `Infinity` and hexadecimal included. */
export function parseNumber(text: string): number | null {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

export function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
