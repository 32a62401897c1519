/** The end of a pod as a table of facts and what follows from them. */
import { describe, expect, it } from "vitest";
import type { DrainDecision, DrainFacts } from "../../../../queue-proxy/core/drain.ts";
import { decideDrain } from "../../../../queue-proxy/core/drain.ts";

const BASE: DrainFacts = {
  now: 0,
  graceMs: 60_000,
  hookAt: undefined,
  signalAt: undefined,
  open: 0,
  idleSinceAt: 0,
  foreignAt: undefined,
  acknowledgedAt: undefined,
  unreachableSinceAt: undefined,
};

interface Row {
  readonly name: string;
  readonly facts: Partial<DrainFacts>;
  readonly expected: Partial<DrainDecision>;
}

const ROWS: readonly Row[] = [
  { name: "nothing asked is serving", facts: {}, expected: { phase: "serving", leave: false } },
  {
    name: "a hook waits for its signal",
    facts: { hookAt: 0, now: 999 },
    expected: { phase: "asked", releaseHook: false, nextAt: 1_000 },
  },
  {
    name: "a hook without a signal is a restart of the container alone",
    facts: { hookAt: 0, now: 1_000 },
    expected: { phase: "serving", releaseHook: true },
  },
  {
    name: "the hook is held while a request runs",
    facts: { hookAt: 0, signalAt: 10, open: 1, now: 40_000 },
    expected: { phase: "draining", releaseHook: false, terminate: false, nextAt: 55_010 },
  },
  {
    name: "what is open ends 5 s before the grace is over",
    facts: { signalAt: 0, open: 1, now: 55_000 },
    expected: { releaseHook: true, terminate: true, leave: false },
  },
  {
    name: "a grace under 10 s is halved instead",
    facts: { signalAt: 0, graceMs: 6_000, open: 1, now: 3_000 },
    expected: { releaseHook: true, terminate: true },
  },
  {
    name: "the hook is released when nothing runs",
    facts: { signalAt: 0, idleSinceAt: 20_000, now: 20_000 },
    expected: { phase: "draining", releaseHook: true, leave: false },
  },
  {
    name: "idle and acknowledged leaves after 1 s",
    facts: { signalAt: 0, idleSinceAt: 20_000, acknowledgedAt: 20_100, now: 21_100 },
    expected: { leave: true },
  },
  {
    name: "idle and acknowledged does not leave before that",
    facts: { signalAt: 0, idleSinceAt: 20_000, acknowledgedAt: 20_100, now: 21_099 },
    expected: { leave: false, nextAt: 21_100 },
  },
  {
    name: "an acknowledgement from before the last request counts from its end",
    facts: { signalAt: 0, idleSinceAt: 20_000, acknowledgedAt: 5, now: 20_999 },
    expected: { leave: false, nextAt: 21_000 },
  },
  {
    name: "not acknowledged stays while an activator is reachable",
    facts: { signalAt: 0, now: 50_000 },
    expected: { leave: false },
  },
  {
    name: "no activator for 5 s leaves",
    facts: { signalAt: 0, unreachableSinceAt: 2_000, now: 8_000 },
    expected: { leave: true },
  },
  {
    name: "no activator for less stays",
    facts: { signalAt: 0, unreachableSinceAt: 2_000, now: 7_999 },
    expected: { leave: false, nextAt: 8_000 },
  },
  {
    name: "foreign traffic keeps the hook for 30 quiet seconds",
    facts: { signalAt: 0, foreignAt: 10_000, acknowledgedAt: 0, now: 39_999 },
    expected: { releaseHook: false, leave: false, nextAt: 40_000 },
  },
  {
    name: "after the quiet time the pod leaves",
    facts: { signalAt: 0, foreignAt: 10_000, acknowledgedAt: 0, now: 41_000 },
    expected: { releaseHook: true, leave: true },
  },
  {
    name: "foreign traffic from before the drain makes the quiet time count from its start",
    facts: { signalAt: 100_000, foreignAt: 5, acknowledgedAt: 100_000, now: 129_999 },
    expected: { releaseHook: false, nextAt: 130_000 },
  },
  {
    name: "a quiet time longer than the grace ends with the grace",
    facts: { signalAt: 0, graceMs: 20_000, foreignAt: 10_000, now: 16_000 },
    expected: { releaseHook: true, leave: true },
  },
  {
    name: "an unreachable store does not hold the pod beyond its grace",
    facts: { signalAt: 0, now: 56_000 },
    expected: { leave: true },
  },
];

describe("decideDrain", () => {
  it.each(ROWS)("$name", ({ facts, expected }) => {
    expect(decideDrain({ ...BASE, ...facts })).toMatchObject(expected);
  });
});
