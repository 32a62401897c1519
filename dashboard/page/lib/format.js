/** Numbers as people read them, always with a unit. */

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 100_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) {
    return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  }
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
}

/** @param {number} ms */
export function ago(ms) {
  if (ms < 1_500) return "now";
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s ago`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min ago`;
  return `${Math.round(ms / 3_600_000)} h ago`;
}

/**
 * A place on a time axis: `-1:30`, `now`.
 * @param {number} ms
 */
export function axisTime(ms) {
  const seconds = Math.round(ms / 1_000);
  if (seconds === 0) return "now";
  return `-${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/**
 * A length of time in whole seconds, for figures that only grow.
 * @param {number} ms
 */
export function roughly(ms) {
  return ms < 60_000 ? `${Math.round(ms / 1_000)} s` : duration(ms);
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** @param {number} perSecond */
export function rate(perSecond) {
  return `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`;
}

/** @param {number} at */
export function clockTime(at) {
  return new Date(at).toLocaleTimeString(undefined, { hour12: false });
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
