/** The choice of a cell: one row per rule, and what holds for any snapshot at all. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  chooseCell,
  explainChoice,
  MAX_DIGEST_AGE_MS,
} from "../../../../cells/core/choose-cell.ts";
import type { CellOffer, CellQuestion } from "../../../../cells/core/choose-cell.ts";
import { createRandom } from "../../../../common/random.ts";

const offer = (name: string, rest: Partial<CellOffer> = {}): CellOffer => ({
  name,
  isHere: name === "eu",
  isAllowed: true,
  isTried: false,
  ageMs: 100,
  warm: 0,
  ready: 0,
  starting: 0,
  waiting: 0,
  expectedWaitMs: null,
  expectedStartMs: 10_000,
  mayStart: 1,
  slotsPerPod: 1,
  roundTripMs: { eu: 0, us: 80, ap: 200 }[name] ?? 100,
  price: 1,
  ...rest,
});

const ask = (
  cells: readonly CellOffer[],
  rest: Partial<CellQuestion> = {},
): ReturnType<typeof chooseCell> =>
  chooseCell({ cells, remainingMs: Number.POSITIVE_INFINITY, dice: [0, 0], ...rest });

type Choice = ReturnType<typeof chooseCell>;

/** What must hold for a choice in any snapshot, as the rules say it. */
const leadsWell = (cells: readonly CellOffer[], choice: Choice): boolean => {
  const chosen = cells.find(({ name }) => name === choice.cell);
  const usable = cells.filter(
    (cell) => cell.isAllowed && !cell.isTried && cell.ageMs <= MAX_DIGEST_AGE_MS,
  );
  const warm = usable.filter((cell) => cell.warm > 0);
  if (chosen !== undefined && !usable.includes(chosen)) return false;
  if (warm.length > 0 !== (choice.expects === "warm")) return false;
  if (choice.expects === "warm" && (chosen === undefined || !warm.includes(chosen))) return false;
  return choice.isHere || !warm.some(({ isHere }) => isHere);
};

/** Every cell has its reason, and only the chosen one is said to be chosen. */
const saysWhy = (cells: readonly CellOffer[], choice: Choice): boolean => {
  const chosen = choice.verdicts.filter(({ reason }) => reason === "chosen");
  return (
    choice.verdicts.length === cells.length && chosen.length === (choice.cell === null ? 0 : 1)
  );
};

const ROWS: readonly (readonly [string, readonly CellOffer[], string | null, string])[] = [
  [
    "takes the warm slot here before a nearer price elsewhere",
    [offer("eu", { warm: 1, price: 9 }), offer("us", { warm: 5 })],
    "eu",
    "warm",
  ],
  [
    "takes a warm slot elsewhere before a start here",
    [offer("eu", { expectedStartMs: 20 }), offer("us", { warm: 1 })],
    "us",
    "warm",
  ],
  [
    "takes the nearest of several warm cells, whatever they cost",
    [offer("eu"), offer("us", { warm: 1, price: 5 }), offer("ap", { warm: 9, price: 1 })],
    "us",
    "warm",
  ],
  [
    "takes the cheaper of two warm cells that are equally near",
    [
      offer("eu"),
      offer("us", { warm: 1, price: 5 }),
      offer("ap", { warm: 1, price: 1, roundTripMs: 82 }),
    ],
    "ap",
    "warm",
  ],
  [
    "waits here while a pod starts here and nobody else is sooner",
    [offer("eu", { starting: 1, expectedWaitMs: 3_000 }), offer("us")],
    "eu",
    "wait",
  ],
  [
    "starts elsewhere when the wait here is longer",
    [
      offer("eu", { ready: 1, expectedWaitMs: 60_000, mayStart: 0 }),
      offer("us", { expectedStartMs: 5_000 }),
    ],
    "us",
    "start",
  ],
  [
    "goes to a short queue elsewhere before a start anywhere",
    [offer("eu"), offer("us", { ready: 3, expectedWaitMs: 400, mayStart: 0 })],
    "us",
    "wait",
  ],
  [
    "starts where it is about as fast and cheaper",
    [
      offer("eu", { price: 4, expectedStartMs: 10_000 }),
      offer("us", { price: 2, expectedStartMs: 11_000 }),
    ],
    "us",
    "start",
  ],
  [
    "starts here when all else is equal",
    [offer("eu"), offer("us", { expectedStartMs: 9_950 })],
    "eu",
    "start",
  ],
  [
    "leaves out a cell that the regions do not allow, warm or not",
    [offer("eu"), offer("us", { warm: 9, isAllowed: false })],
    "eu",
    "start",
  ],
  [
    "leaves out a cell that was not heard of in time",
    [offer("eu"), offer("us", { warm: 9, ageMs: MAX_DIGEST_AGE_MS + 1 })],
    "eu",
    "start",
  ],
  [
    "leaves out a cell that refused this request",
    [offer("eu"), offer("us", { warm: 9, isTried: true })],
    "eu",
    "start",
  ],
  [
    "serves elsewhere when this cell may not serve at all",
    [offer("eu", { isAllowed: false, warm: 3 }), offer("us")],
    "us",
    "start",
  ],
  [
    "names nobody when no cell has pods or room for any",
    [offer("eu", { mayStart: 0 }), offer("us", { mayStart: 0 })],
    null,
    "wait",
  ],
  [
    "puts a start that was never seen behind every known one",
    [offer("eu", { expectedStartMs: null }), offer("us", { expectedStartMs: 60_000 })],
    "us",
    "start",
  ],
  [
    "reckons a start that was never seen by what other cells saw, and prefers it to a long wait",
    [
      offer("eu", { ready: 4, mayStart: 0, waiting: 30, expectedWaitMs: 60_000 }),
      offer("us", { expectedStartMs: null }),
    ],
    "us",
    "start",
  ],
  [
    "waits rather than for a start of which nobody knows anything",
    [
      offer("eu", { ready: 4, mayStart: 0, expectedWaitMs: 60_000, expectedStartMs: null }),
      offer("us", { expectedStartMs: null }),
    ],
    "eu",
    "wait",
  ],
  [
    "waits for a pod that starts for nobody yet",
    [
      offer("eu", { starting: 2, waiting: 1, mayStart: 0 }),
      offer("us", { expectedStartMs: 15_000 }),
    ],
    "eu",
    "wait",
  ],
  [
    "starts in another cell what the pods of one would not do for",
    [
      offer("eu", { mayStart: 3, waiting: 4, expectedStartMs: 1_000 }),
      offer("us", { expectedStartMs: 2_000 }),
    ],
    "us",
    "start",
  ],
  [
    "counts the slots of pods, not the pods",
    [
      offer("eu", { mayStart: 1, waiting: 3, expectedStartMs: 1_000, slotsPerPod: 4 }),
      offer("us", { expectedStartMs: 2_000, slotsPerPod: 4 }),
    ],
    "eu",
    "start",
  ],
  [
    "does not wait for pods that start for others",
    [
      offer("eu", { starting: 2, waiting: 3, mayStart: 0 }),
      offer("us", { expectedStartMs: 15_000 }),
    ],
    "us",
    "start",
  ],
];

describe("chooseCell", () => {
  for (const [title, cells, cell, expects] of ROWS) {
    it(title, () => {
      const choice = ask(cells);
      expect([choice.cell, choice.expects]).toEqual([cell, expects]);
      expect(choice.isHere).toBe(cell === "eu");
    });
  }

  it("leaves out what the deadline does not allow, while somebody can make it", () => {
    const cells = [
      offer("eu", { mayStart: 0 }),
      offer("us", { warm: 1 }),
      offer("ap", { warm: 1 }),
    ];
    const far = ask([offer("eu", { mayStart: 0 }), offer("ap", { warm: 1 })], { remainingMs: 50 });
    expect(far.cell).toBe("ap");
    const near = ask(cells, { remainingMs: 100 });
    expect(near.cell).toBe("us");
    expect(near.verdicts.find(({ cell }) => cell === "ap")?.reason).toBe("too-far");
  });

  it("takes the better of two drawn cells where several are equal", () => {
    const equal = ["b", "c", "d"].map((name, index) => offer(name, { warm: index + 1 }));
    const drawn = [0, 0.4, 0.9].map((first) => ask(equal, { dice: [first, 0] }).cell);
    expect(drawn).toEqual(["c", "d", "d"]);
  });

  it("says of every cell why", () => {
    const choice = ask([
      offer("eu", { warm: 0 }),
      offer("us", { warm: 2 }),
      offer("ap", { warm: 1 }),
      offer("sa", { isAllowed: false }),
      offer("me", { ageMs: Number.POSITIVE_INFINITY }),
      offer("af", { warm: 2, price: 7, roundTripMs: 80 }),
    ]);
    expect(Object.fromEntries(choice.verdicts.map(({ cell, reason }) => [cell, reason]))).toEqual({
      eu: "not-warm",
      us: "chosen",
      ap: "farther",
      sa: "outside-regions",
      me: "too-old",
      af: "dearer",
    });
    expect(explainChoice(choice)).toContain("us: chosen (80 ms)");
  });
});

describe("any snapshot", () => {
  const random = createRandom(7);
  const any = (): CellOffer[] =>
    Array.from({ length: 1 + Math.floor(random() * 8) }, (_, index) =>
      offer(`c${index}`, {
        isHere: index === 0,
        isAllowed: random() < 0.7,
        isTried: random() < 0.2,
        ageMs: random() * 4_000,
        warm: Math.floor(random() * 3) - 1,
        ready: Math.floor(random() * 3),
        starting: Math.floor(random() * 2),
        mayStart: Math.floor(random() * 3),
        expectedWaitMs: random() < 0.3 ? null : random() * 9_000,
        expectedStartMs: random() < 0.3 ? null : random() * 9_000,
        roundTripMs: index === 0 ? 0 : random() * 300,
        price: Math.floor(random() * 3),
      }),
    );

  it("never leads outside the regions, to a silent cell, to a refusal, or past a warm slot", () => {
    const wrong: CellOffer[][] = [];
    for (let round = 0; round < 2_000; round += 1) {
      const cells = any();
      const choice = ask(cells, { dice: [random(), random()] });
      if (!leadsWell(cells, choice) || !saysWhy(cells, choice)) wrong.push(cells);
    }
    expect(wrong).toEqual([]);
  });

  it("imports nothing", () => {
    const source = readFileSync(
      new URL("../../../../cells/core/choose-cell.ts", import.meta.url),
      "utf8",
    );
    expect(source).not.toMatch(/^\s*import\b/m);
  });
});
