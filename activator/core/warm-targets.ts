/**
 * Which pods are worth more to a call than their card says: those that were given a prompt with the
 * same beginning, by this activator's own memory, and the one that ran the workflow's last call, by
 * the workflow's record, which all activators share. Pure.
 */
import { FINGERPRINT_LENGTHS } from "../../common/hexgen/model-body.ts";
import type { WarmPod } from "./prefix-memory.ts";

/** What the last call of the workflow left: where it ran, and how its prompt began. */
export interface LastCall {
  readonly targetUid: string;
  readonly fingerprints: readonly string[];
}

/** Targets that a choice looks at for what they hold (section 2.1 of the rules). */
const MOST_WARM = 8;

/** Characters at the beginning of two prompts that are surely the same. */
export function commonCharacters(one: readonly string[], other: readonly string[]): number {
  let characters = 0;
  for (const [index, length] of FINGERPRINT_LENGTHS.entries()) {
    if (one[index] === undefined || one[index] !== other[index]) break;
    characters = length;
  }
  return characters;
}

/** Pods by what they hold, longest first, at most eight; the workflow's own pod before its equals. */
export function warmPods(
  remembered: readonly WarmPod[],
  fingerprints: readonly string[],
  last: LastCall | undefined,
): readonly WarmPod[] {
  const own = commonCharacters(fingerprints, last?.fingerprints ?? []);
  const pods = new Map<string, number>();
  if (last !== undefined && own > 0) pods.set(last.targetUid, own);
  for (const { podUid, characters } of remembered) {
    pods.set(podUid, Math.max(characters, pods.get(podUid) ?? 0));
  }
  return Array.from(pods, ([podUid, characters]) => ({ podUid, characters }))
    .toSorted((left, right) => right.characters - left.characters)
    .slice(0, MOST_WARM);
}

/** The same, pods that hold the same length together. */
export function byLength(pods: readonly WarmPod[]): ReadonlyMap<number, readonly string[]> {
  const uidsOf = new Map<number, string[]>();
  for (const { podUid, characters } of pods) {
    const uids = uidsOf.get(characters) ?? [];
    uidsOf.set(characters, uids);
    uids.push(podUid);
  }
  return uidsOf;
}
