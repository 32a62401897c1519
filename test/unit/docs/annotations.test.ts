/** docs/reference/annotations.md against the code that reads annotations, in both directions. */
import { describe, expect, it } from "vitest";
import { readSettings } from "../../../autoscaler/core/settings/settings.ts";
import type { SettingsInput, SettingsResult } from "../../../autoscaler/core/settings/types.ts";
import { NOT_IN_EFFECT_YET } from "../../../autoscaler/core/settings/warnings.ts";
import {
  AUTOSCALING_PREFIX,
  OWN_KEYS,
  PILOTLIGHT_PREFIX,
  PROGRESS_DEADLINE_KEY,
  ROLLOUT_DURATION_KEY,
  STOCK_KEYS,
} from "../../../common/contracts/annotations.ts";
import { LOCAL_DEFAULTS } from "../../../local/settings-check.ts";
import { quotedIn, readPage, rowsOf, sorted } from "./tables.ts";

const page = readPage("annotations.md");

interface KeyRow {
  readonly path: string;
  readonly value: string;
  readonly fallback: string;
}

const keyRow =
  (prefix: string, at: number) =>
  (cells: readonly string[]): KeyRow => ({
    path: prefix + (cells[0] ?? ""),
    value: cells[at] ?? "",
    fallback: quotedIn(cells[at + 1] ?? "")[0] ?? "",
  });

const stockRows = rowsOf(page, "How many pods: stock keys");
const servingRows = rowsOf(page, "Stock keys of serving");
const ownRows = rowsOf(page, "Our own keys");
const KEYS: readonly KeyRow[] = [
  ...stockRows.map(keyRow(AUTOSCALING_PREFIX, 1)),
  ...servingRows.map(keyRow("", 1)),
  ...ownRows.map(keyRow(PILOTLIGHT_PREFIX, 2)),
];

function read(
  annotations: Record<string, string>,
  more: Partial<SettingsInput> = {},
): SettingsResult {
  return readSettings({ annotations, requestsGpu: false, ...more }, LOCAL_DEFAULTS);
}

/** Errors that name exactly this path; rules over several keys name more. */
function faultsOf(path: string, text: string): readonly string[] {
  const { errors } = read({ [path]: text });
  return errors.filter((error) => error.split("\n")[0]?.endsWith(`: ${path}`));
}

describe("docs/reference/annotations.md: keys", () => {
  it("lists exactly the stock scaling keys", () => {
    expect(sorted(stockRows.map(([name]) => name))).toEqual(sorted(Object.keys(STOCK_KEYS)));
  });

  it("lists exactly the older spellings", () => {
    const paragraph = /^Read too,.*?\n\n/ms.exec(page)?.[0] ?? "";
    const aliases = Object.values(STOCK_KEYS).filter((alias) => alias !== null);
    expect(sorted(quotedIn(paragraph))).toEqual(sorted(aliases));
  });

  it("lists exactly the keys of serving", () => {
    expect(servingRows.map(([name]) => name)).toEqual([
      PROGRESS_DEADLINE_KEY,
      ROLLOUT_DURATION_KEY,
    ]);
  });

  it("lists exactly our own keys, and which of them are live", () => {
    const documented = ownRows.map(([name, live]) => [name, live]);
    const built = Object.entries(OWN_KEYS).map(([name, where]) => [
      name,
      where === "live" ? "yes" : "no",
    ]);
    expect(sorted(documented)).toEqual(sorted(built));
  });

  it("says of exactly those keys that they are not in effect", () => {
    const documented = ownRows.filter((cells) => cells[4] === "no").map(([name]) => name);
    expect(sorted(documented)).toEqual(sorted(NOT_IN_EFFECT_YET));
  });
});

const ranged = KEYS.flatMap(({ path, value }) => {
  const range = quotedIn(value).find((token) => token.includes(".."));
  return range === undefined ? [] : [{ path, range }];
});
const listed = KEYS.map(({ path, value }) => ({
  path,
  words: quotedIn(value).filter((token) => /^[a-z][\w-]*(\d|[a-z])$/i.test(token)),
})).filter(({ words, path }) => words.length > 1 && !path.endsWith("/stages"));
const defaulted = KEYS.filter(({ fallback }) => fallback !== "");

describe("docs/reference/annotations.md: values", () => {
  it("has rows of each kind to check", () => {
    expect(ranged.length).toBeGreaterThan(20);
    expect(listed.length).toBeGreaterThan(10);
    expect(defaulted.length).toBeGreaterThan(25);
  });

  it.each(ranged)("$path takes $range and nothing beyond", ({ path, range }) => {
    const [low = "", high = ""] = range.split("..");
    expect(faultsOf(path, low)).toEqual([]);
    expect(faultsOf(path, high)).toEqual([]);
    const beyond = /[a-z]$/.test(high) ? "9999h" : "99999999999";
    expect(faultsOf(path, beyond).join()).toMatch(
      new RegExp(`^expected ${low} <= .* <= ${high}: `),
    );
  });

  it.each(listed)("$path takes its words and no other", ({ path, words }) => {
    for (const word of words) expect(faultsOf(path, word), word).toEqual([]);
    expect(faultsOf(path, "no-such-word").join()).toContain("invalid value: no-such-word");
  });

  it.each(defaulted)("$path is $fallback where it is absent", ({ path, fallback }) => {
    const { utilizationAnnotated: _said, ...without } = read({}).settings;
    const { utilizationAnnotated: _given, ...withIt } = read({ [path]: fallback }).settings;
    expect(faultsOf(path, fallback)).toEqual([]);
    expect(withIt).toEqual(without);
  });

  it("names every word of load-balancing that the code accepts", () => {
    const row = ownRows.find(([name]) => name === "load-balancing");
    const fault = faultsOf(`${PILOTLIGHT_PREFIX}load-balancing`, "x").join();
    const accepted = /must be one of ([^\n]*), or empty/.exec(fault)?.[1]?.split(", ") ?? [];
    expect(sorted(quotedIn(row?.[2] ?? ""))).toEqual(sorted(accepted));
  });
});

describe("docs/reference/annotations.md: spec fields", () => {
  const rows = rowsOf(page, "Spec fields");

  it("lists exactly the fields that are read", () => {
    const huge = {
      containerConcurrency: 1e9,
      timeoutSeconds: 1e9,
      responseStartTimeoutSeconds: 1e9,
      idleTimeoutSeconds: 1e9,
    } satisfies Partial<SettingsInput>;
    const faults = read({}, huge).errors.map((error) => /template\.spec\.(\w+)$/.exec(error)?.[1]);
    expect(sorted(rows.map(([name]) => name))).toEqual(sorted(faults));
  });

  it.each(rows.map(([name = "", value = ""]) => ({ name, range: quotedIn(value)[0] ?? "" })))(
    "$name takes $range",
    ({ name, range }) => {
      const [low = "", high = ""] = range.split("..");
      for (const good of [low, high]) expect(read({}, { [name]: Number(good) }).errors).toEqual([]);
      const fault = read({}, { [name]: 1e9 }).errors.join();
      expect(fault).toBe(`expected ${low} <= 1000000000 <= ${high}: spec.template.spec.${name}`);
    },
  );

  it("gives the defaults", () => {
    const defaults = new Map(rows.map(([name, , fallback]) => [name, quotedIn(fallback ?? "")]));
    expect(defaults.get("containerConcurrency")).toEqual([
      String(read({}, { requestsGpu: true }).settings.containerConcurrency),
      String(read({}).settings.containerConcurrency),
    ]);
    const { timeoutMs, responseStartTimeoutMs, idleTimeoutMs } = read({}).settings;
    expect(defaults.get("timeoutSeconds")).toEqual([String(timeoutMs / 1_000)]);
    expect(defaults.get("responseStartTimeoutSeconds")).toEqual([
      String(responseStartTimeoutMs / 1_000),
    ]);
    expect(defaults.get("idleTimeoutSeconds")).toEqual([String(idleTimeoutMs / 1_000)]);
  });
});
