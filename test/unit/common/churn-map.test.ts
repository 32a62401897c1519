import { describe, expect, it } from "vitest";
import { ChurnList, ListEntry } from "../../../common/churn-list.ts";
import { ChurnMap } from "../../../common/churn-map.ts";
import { createRandom } from "../../../common/random.ts";

describe("a map for entries that come and go", () => {
  it("does what Map does, over a hundred thousand random steps", () => {
    const random = createRandom(7);
    const [ours, theirs] = [new ChurnMap<number>(), new Map<string, number>()];
    for (let step = 0; step < 100_000; step += 1) {
      const key = `lease-${Math.floor(random() * 300)}`;
      const dice = random();
      if (dice < 0.45) {
        ours.set(key, step);
        theirs.set(key, step);
      } else if (dice < 0.9) {
        expect(ours.delete(key)).toBe(theirs.delete(key));
      }
      expect(ours.get(key)).toBe(theirs.get(key));
      expect(ours.has(key)).toBe(theirs.has(key));
      expect(ours.size).toBe(theirs.size);
      if (step % 1_000 === 0) expect([...ours.values()]).toEqual([...theirs.values()]);
    }
    expect([...ours.keys()]).toEqual([...theirs.keys()]);
  });

  it("may be changed while it is iterated, the present entry and the next ones too", () => {
    const map = new ChurnMap<string>();
    for (const key of ["a", "b", "c", "d", "e"]) map.set(key, key);
    const seen: string[] = [];
    for (const value of map.values()) {
      seen.push(value);
      if (value === "a") for (const key of ["a", "b", "c"]) map.delete(key);
      if (value === "d") map.set("f", "f");
    }
    expect(seen).toEqual(["a", "d", "e", "f"]);
    expect([...map.keys()]).toEqual(["d", "e", "f"]);
  });

  it("ends an iteration that is left early", () => {
    const map = new ChurnMap<number>();
    map.set("a", 1);
    map.set("b", 2);
    for (const value of map.values()) if (value === 1) break;
    map.delete("a");
    map.set("c", 3);
    expect([...map.values()]).toEqual([2, 3]);
  });

  it("tells keys apart that share a bucket", () => {
    const map = new ChurnMap<number>();
    for (let i = 0; i < 5_000; i += 1) map.set(String(i), i);
    for (let i = 0; i < 5_000; i += 2) map.delete(String(i));
    expect(map.size).toBe(2_500);
    expect(map.get("4999")).toBe(4_999);
    expect(map.get("4998")).toBeUndefined();
  });
});

describe("a list for entries that come and go", () => {
  it("takes an entry out once, and keeps none of its links", () => {
    const list = new ChurnList<ListEntry>();
    const [a, b, c] = [new ListEntry(), new ListEntry(), new ListEntry()];
    for (const entry of [a, b, c]) list.add(entry);
    expect([list.remove(b), list.remove(b)]).toEqual([true, false]);
    expect([b.before, b.behind]).toEqual([undefined, undefined]);
    expect([...list]).toEqual([a, c]);
    list.add(b);
    expect([...list]).toEqual([a, c, b]);
  });

  it("takes an entry back that was taken out during an iteration", () => {
    const list = new ChurnList<ListEntry>();
    const [a, b] = [new ListEntry(), new ListEntry()];
    for (const entry of [a, b]) list.add(entry);
    for (const entry of list) if (entry === a) list.remove(a);
    list.add(a);
    const seen: ListEntry[] = [];
    for (const entry of list) if (seen.push(entry) > 2) break;
    expect(seen).toEqual([b, a]);
  });
});
