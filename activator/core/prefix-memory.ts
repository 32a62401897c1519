/**
 * Which pods were last given a prompt with the same beginning, by fingerprint: there the engine may
 * still hold it. Bounded; the oldest beginnings are forgotten first.
 */
import { FINGERPRINT_LENGTHS } from "../../common/hexgen/model-body.ts";

/** Beginnings remembered per revision. */
const MOST_PREFIXES = 4_096;
/** Pods remembered per beginning, newest first (section 2.1 of the rules looks at eight). */
const PODS_PER_PREFIX = 8;
/** An engine that was busy with others has forgotten it by then. */
const KEPT_MS = 600_000;

interface Holder {
  readonly podUid: string;
  readonly at: number;
}

export interface WarmPod {
  readonly podUid: string;
  /** Characters of the prompt's beginning that it was given before. */
  readonly characters: number;
}

export class PrefixMemory {
  readonly #holders = new Map<string, readonly Holder[]>();

  /** A prompt with these fingerprints went to a pod. */
  sent(fingerprints: readonly string[], podUid: string, now: number): void {
    for (const print of fingerprints) {
      const others = (this.#holders.get(print) ?? []).filter((holder) => holder.podUid !== podUid);
      this.#holders.delete(print);
      this.#holders.set(print, [{ podUid, at: now }, ...others.slice(0, PODS_PER_PREFIX - 1)]);
    }
    while (this.#holders.size > MOST_PREFIXES) {
      this.#holders.delete(this.#holders.keys().next().value ?? "");
    }
  }

  /** Pods that hold the longest known beginnings, longest first; at most eight. */
  find(fingerprints: readonly string[], now: number): WarmPod[] {
    const found = new Map<string, number>();
    for (let index = fingerprints.length - 1; index >= 0; index -= 1) {
      for (const { podUid, at } of this.#holders.get(fingerprints[index] ?? "") ?? []) {
        if (now - at > KEPT_MS || found.has(podUid) || found.size >= PODS_PER_PREFIX) continue;
        found.set(podUid, FINGERPRINT_LENGTHS[index] ?? 0);
      }
    }
    return Array.from(found, ([podUid, characters]) => ({ podUid, characters }));
  }
}
