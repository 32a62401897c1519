/** What people write on a command line about settings, targets and times, read with their faults named. */
import { OWN_KEYS, ownKey, STOCK_KEYS, stockKey } from "../../../common/contracts/annotations.ts";
import type { OwnKey, StockKey } from "../../../common/contracts/annotations.ts";
import { PlatformError } from "../../../common/errors.ts";
import { parseDuration } from "../../core/settings/duration.ts";
import type { Annotations } from "./search.ts";
import type { Quantiles } from "./types.ts";

export interface WaitTarget {
  readonly quantile: keyof Quantiles;
  readonly limitMs: number;
}

/** `p95=2s`. */
export function parseTarget(text: string): WaitTarget {
  const [, quantile, limit = ""] = /^(p50|p95|p99|max)=(.+)$/.exec(text) ?? [];
  const limitMs = parseDuration(limit);
  if (quantile === undefined || limitMs === null || limitMs < 0) {
    throw new PlatformError(
      "ERR_USAGE",
      `The target "${text}" is not of the form p95=2s; p50, p95, p99 and max are known`,
    );
  }
  // The pattern lets only these through.
  return { quantile: quantile as WaitTarget["quantile"], limitMs };
}

export function parseTime(text: string, option: string): number {
  const ms = parseDuration(text);
  if (ms !== null && ms >= 0) return ms;
  throw new PlatformError("ERR_USAGE", `${option} ${text} is no duration; write 500ms, 2s or 10m`);
}

/** `window=60s,cooldown=1m`: short or full keys. */
export function parseAnnotations(text: string): Annotations {
  const entries = text.split(",").map((part) => {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(part.trim()) ?? [];
    if (key === undefined || value === undefined) {
      throw new PlatformError("ERR_USAGE", `"${part}" is not of the form key=value`);
    }
    return [fullKey(key), value];
  });
  return Object.fromEntries(entries) as Annotations;
}

/** Own keys first, where a name stands for both. */
export function fullKey(name: string): string {
  if (name.includes("/")) return name;
  if (Object.hasOwn(OWN_KEYS, name)) return ownKey(name as OwnKey);
  if (Object.hasOwn(STOCK_KEYS, name)) return stockKey(name as StockKey);
  throw new PlatformError(
    "ERR_USAGE",
    `There is no setting ${name}. docs/reference/annotations.md lists them.`,
  );
}

/** Key without its prefix, for tables. */
export function shortKey(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
