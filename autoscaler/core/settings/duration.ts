/** Durations as Go writes them (`1h30m`, `90s`, `500ms`), since that is what annotations hold. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
const WHOLE = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;

/** Milliseconds, or `null` when the text is no duration. */
export function parseDuration(text: string): number | null {
  if (/^[+-]?0$/.test(text)) return 0;
  if (text.length > 64 || !WHOLE.test(text)) return null;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    totalMs += Number(amount) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  }
  // Sums of decimal parts carry noise far below a nanosecond; a whole second must stay whole.
  const roundedMs = Math.round(totalMs * 1e6) / 1e6;
  if (!Number.isFinite(roundedMs)) return null;
  return text.startsWith("-") ? -roundedMs : roundedMs;
}

/** `1h0m0s`, `1m30s`, `500ms`, `0s`: the form in which stock messages show a duration. */
export function formatDuration(durationMs: number): string {
  if (durationMs === 0) return "0s";
  const sign = durationMs < 0 ? "-" : "";
  const ms = Math.abs(durationMs);
  if (ms < 1) return `${sign}${trim(ms * 1_000)}µs`;
  if (ms < 1_000) return `${sign}${trim(ms)}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = trim((ms % 60_000) / 1_000);
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}

export function isWholeSeconds(durationMs: number): boolean {
  return durationMs % 1_000 === 0;
}

function trim(value: number): string {
  return String(Number(value.toFixed(9)));
}
