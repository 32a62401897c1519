/**
 * The activators that a pod would push to, best first: those that serve its revision, each pod with
 * a favourite of its own among them (rendezvous hashing), so that pods spread over the part, stay
 * where they are while it stays, and few of them move when one comes or goes. Behind them the
 * others: any of them takes pushes.
 */
import { chooseSubset, fnv64 } from "../../common/activator-subset.ts";

export interface OrderOptions {
  /** Activators that serve the revision; 0: all. */
  readonly count: number;
  /** Name of the revision, by which the part is chosen. */
  readonly revision: string;
  readonly pod: string;
}

export function orderActivators(members: readonly string[], options: OrderOptions): string[] {
  const { count, revision, pod } = options;
  const part = new Set(chooseSubset(members, count, revision));
  const weights = new Map(members.map((member) => [member, weightOf(pod, member)]));
  return [...weights.keys()].toSorted((left, right) => {
    const isBehind = Number(part.has(right)) - Number(part.has(left));
    return isBehind || (weights.get(right) ?? 0) - (weights.get(left) ?? 0);
  });
}

/** Evenly in 0..1: FNV alone keeps the order of names that differ in their last letters only. */
function weightOf(pod: string, member: string): number {
  let hash = Number(fnv64(`${member} ${pod}`) & 0xffffffffn);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
