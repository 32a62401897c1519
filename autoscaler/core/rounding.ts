/**
 * Pods are whole. Quotients of decimal settings carry noise in the last bits, and one bit must not
 * cost a GPU: 2.1 / 0.7 is 3.
 */
const NOISE = 1e-9;

export function ceilPods(value: number): number {
  return Math.max(0, Math.ceil(value - NOISE));
}
