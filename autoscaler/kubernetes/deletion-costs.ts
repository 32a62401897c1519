/** Which pods get which deletion cost before a scale-down. Pure. */

/**
 * Leavers get negative costs, the first to go the lowest; those who stay 0, which is what a pod
 * without a cost counts as, so an earlier mark of a stayer is taken back. Nobody needs a mark where
 * all go, nor where none goes.
 */
export function deletionCosts(
  leaveOrder: readonly string[],
  replicas: number,
): ReadonlyMap<string, number> {
  const leaving = leaveOrder.length - replicas;
  if (replicas === 0 || leaving <= 0) return new Map();
  return new Map(leaveOrder.map((uid, index) => [uid, Math.min(0, index - leaving)]));
}
