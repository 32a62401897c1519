/** Pages of the command line from made-up facts: top, its frame, the doctor's judgements. */
import { describe, expect, it } from "vitest";
import { topPage } from "../../../cli/commands/top.ts";
import { doctorPage } from "../../../cli/commands/doctor.ts";
import { ill, well } from "../../../cli/doctor/check.ts";
import { checkNode, hardLimit } from "../../../cli/doctor/machine-checks.ts";
import { judgeStore } from "../../../cli/doctor/platform-checks.ts";
import { frame } from "../../../cli/live-screen.ts";
import type { RevisionSnapshot, Snapshot } from "../../../local/platform-types.ts";

const TARGETS = {
  starting: 0,
  ready: 2,
  unready: 0,
  suspected: 0,
  quarantined: 0,
  draining: 0,
};

function revision(name: string, changes: Partial<RevisionSnapshot> = {}): RevisionSnapshot {
  const load = {
    running: 3,
    waiting: 1,
    oldestWaitMs: 1_500,
    arrivalRate: 2.25,
    targetsByState: TARGETS,
  };
  return {
    key: `default/${name}`,
    name,
    percent: 100,
    containerConcurrency: 1,
    maxScale: 0,
    minScale: 0,
    priceFactor: 1,
    problem: "",
    desiredScale: 4,
    load,
    targets: [],
    targetCount: 2,
    decisions: [],
    coldStarts: [],
    traffic: null,
    ...changes,
  };
}

function snapshot(revisions: readonly RevisionSnapshot[]): Snapshot {
  return {
    at: Date.UTC(2026, 0, 1, 12, 30, 5),
    run: { mode: "local", startedAt: 0, ingressUrl: "", storeUrl: "", version: "" },
    store: { state: "ready", readMs: 1, reason: "" },
    activators: [{ id: "a", url: "", state: "ready", reason: "" }],
    services: [
      { namespace: "default", name: "echo", url: "", state: "serving", problem: "", revisions },
    ],
  };
}

const rowsOf = (page: string): string[] => page.split("\n").slice(3);

describe("top", () => {
  it("shows one row per service, with units", () => {
    const page = topPage(snapshot([revision("echo-00001")]));
    expect(page).toContain("12:30:05 UTC   1 services   store ready   1 of 1 activators ready");
    expect(rowsOf(page)).toEqual([
      "echo     100 %    2      4       3        1        1.5 s   2.3",
    ]);
  });

  it("shows the revisions that have traffic, pods or requests where they are several", () => {
    const idle = revision("echo-00001", { percent: 0, targetCount: 0, load: null });
    const split = [80, 20].map((percent, index) => revision(`echo-0000${index + 2}`, { percent }));
    const rows = rowsOf(topPage(snapshot([idle, ...split]))).map((row) => row.split(/ {2,}/)[0]);
    expect(rows).toEqual(["echo", "", ""]);
    expect(topPage(snapshot([idle, ...split]))).not.toContain("echo-00001");
  });

  it("says that figures are unknown while the store is away", () => {
    const page = topPage(snapshot([revision("echo-00001", { load: null })]));
    expect(rowsOf(page)[0]).toMatch(/^echo +100 % +\? +4 +\? +\? +\? +\?$/);
  });

  it("never draws more lines than the screen has", () => {
    const page = Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n");
    expect(frame(page, 10).split("\n")).toHaveLength(10);
    expect(frame(page, 0).split("\n")).toHaveLength(24);
    expect(frame("one line", 10)).toContain("q quits");
    const narrow = frame("SERVICE  TRAFFIC\nocr", 10, 12);
    expect(narrow).toContain("SERVICE  TR>");
    expect(narrow).not.toContain("TRAFFIC");
  });
});

describe("the doctor", () => {
  it("has a line per finding and the cure below it", () => {
    const page = doctorPage([well("node", "Node 24"), ill("ports", "warn", "8080", "Stop it.")]);
    expect(page).toBe("ok    node   Node 24\nwarn  ports  8080\n      -> Stop it.");
  });

  const stores: [text: string, health: string][] = [
    ["Valkey server v=8.0.1 sha=0 malloc=libc bits=64", "ok"],
    ["Valkey server v=9.1.0", "ok"],
    ["Valkey server v=7.2.5 sha=0", "fail"],
    ["Redis server v=7.0.15 sha=0", "warn"],
    ["", "warn"],
  ];
  it.each(stores)("judges a store that says %j as %s", (text, health) => {
    expect(judgeStore("/bin/valkey-server", text).health).toBe(health);
  });

  it.each([
    ["24.0.0", "ok"],
    ["26.1.0", "ok"],
    ["22.20.0", "fail"],
  ])("judges Node %s as %s", (version, health) => {
    expect(checkNode(version).health).toBe(health);
  });

  it("reads hard limits", () => {
    const text = [
      "Limit                     Soft Limit           Hard Limit           Units     ",
      "Max processes             1024                 2048                 processes ",
      "Max open files            1024                 unlimited            files     ",
    ].join("\n");
    expect(hardLimit(text, "Max processes")).toBe(2_048);
    expect(hardLimit(text, "Max open files")).toBe(Number.POSITIVE_INFINITY);
    expect(hardLimit(text, "Max stack size")).toBe(Number.POSITIVE_INFINITY);
  });
});
