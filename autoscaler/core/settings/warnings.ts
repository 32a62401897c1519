/**
 * What is accepted and still deserves a word: keys nobody knows, keys in the wrong place, and keys
 * whose behaviour is not built yet.
 */
import { OWN_KEYS, PILOTLIGHT_PREFIX } from "../../../common/contracts/annotations.ts";
import type { OwnKey } from "../../../common/contracts/annotations.ts";
import type { Problems } from "./problems.ts";
import { shown } from "./problems.ts";
import type { SettingsInput } from "./types.ts";

/** Known and checked, but without effect so far. Take a key out when its behaviour lands. */
export const NOT_IN_EFFECT_YET: readonly OwnKey[] = [];

/** A name further away than this is no misspelling. */
const NEAR_DISTANCE = 5;

export function warnAboutKeys(input: SettingsInput, problems: Problems): void {
  const revision = ownNames(input.annotations);
  const service = ownNames(input.serviceAnnotations ?? {});
  const names = [...new Set([...revision, ...service])].toSorted();
  for (const name of names) {
    if (!isOwnKey(name)) warnUnknown(name, problems);
    else if (NOT_IN_EFFECT_YET.includes(name)) {
      problems.warn(`not in effect yet: ${PILOTLIGHT_PREFIX}${name}`);
    }
  }
  for (const name of service) {
    if (!isOwnKey(name) || OWN_KEYS[name] === "live") continue;
    problems.warn(
      `${PILOTLIGHT_PREFIX}${name} has no effect on the Service: move it to spec.template.metadata.annotations`,
    );
  }
}

function ownNames(annotations: Readonly<Record<string, string>>): string[] {
  return Object.keys(annotations)
    .filter((key) => key.startsWith(PILOTLIGHT_PREFIX))
    .map((key) => key.slice(PILOTLIGHT_PREFIX.length));
}

function isOwnKey(name: string): name is OwnKey {
  return Object.hasOwn(OWN_KEYS, name);
}

function warnUnknown(name: string, problems: Problems): void {
  const near = nearestName(name, Object.keys(OWN_KEYS));
  const hint = near === null ? "" : `, did you mean ${near}?`;
  problems.warn(`unknown annotation ${PILOTLIGHT_PREFIX}${shown(name)}${hint}`);
}

/** The known name with the fewest edits, or `null` when all are far. */
export function nearestName(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.min(NEAR_DISTANCE, Math.ceil(name.length / 2)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const change = left[row - 1] === right[column - 1] ? 0 : 1;
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + change,
        ),
      );
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
