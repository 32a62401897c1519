/**
 * Which activators serve a revision where it has a part of them: the choice of Knative's
 * ServerlessService (pkg/hash, `ChooseSubset`), by which ingresses learn it, step for step, so that
 * whoever knows the same members chooses the same part. Smaller parts lie within larger ones, and a
 * member that comes or goes moves few revisions.
 */

/** No revision has fewer, so that the loss of one is never the loss of all. */
export const LEAST_ACTIVATORS = 2;

/** Angles on the circle on which members stand. */
const UNIVERSE = 2_048n;
const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/** `count` of the members, or all where there are not more; 0 means all. `target` names the revision. */
export function chooseSubset(
  members: readonly string[],
  count: number,
  target: string,
): readonly string[] {
  const distinct = [...new Set(members)].toSorted(byBytes);
  if (count <= 0 || count >= distinct.length) return distinct;
  const circle = placeOnCircle(distinct, target);
  const step = fnv64(`${target}step-angle-salt`) % UNIVERSE;
  let angle = fnv64(`${target}start-angle-salt`) % UNIVERSE;
  const chosen = new Set<number>();
  while (chosen.size < count) {
    let index = circle.findIndex((place) => place.angle >= angle);
    if (index < 0) index = 0;
    while (chosen.has(index)) index = (index + 1) % circle.length;
    chosen.add(index);
    angle = (angle + step) % UNIVERSE;
  }
  return [...chosen].flatMap((index) => circle[index]?.member ?? []);
}

/** FNV-1a over the bytes of the text, 64 bits. */
export function fnv64(text: string): bigint {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(text, "utf8")) {
    hash = ((hash ^ BigInt(byte)) * FNV_PRIME) & MASK;
  }
  return hash;
}

interface Place {
  readonly angle: bigint;
  readonly member: string;
}

function placeOnCircle(members: readonly string[], target: string): readonly Place[] {
  const taken = new Set<bigint>();
  const places = members.map((member): Place => {
    let salted = `${member}${target}`;
    let hash = fnv64(salted);
    while (taken.has(hash % UNIVERSE)) {
      salted += hash.toString(16);
      hash = fnv64(salted);
    }
    taken.add(hash % UNIVERSE);
    return { angle: hash % UNIVERSE, member };
  });
  return places.toSorted((left, right) => Number(left.angle - right.angle));
}

/** The order of the original; names of members are ASCII. */
function byBytes(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
