/**
 * The guides, as far as a machine can read them: service files are good, commands and options
 * exist, links lead somewhere, worked numbers are what the autoscaler computes.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { describe, expect, it } from "vitest";
import { clampPods } from "../../../autoscaler/core/bounds.ts";
import { readSettings } from "../../../autoscaler/core/settings/settings.ts";
import { askForLoad } from "../../../autoscaler/core/want.ts";
import { parserOptions } from "../../../cli/command.ts";
import { COMMANDS } from "../../../cli/main.ts";
import { WIRE_REASONS } from "../../../common/contracts/wire-reasons.ts";
import { parseServiceFile } from "../../../local/service-files.ts";
import { LOCAL_DEFAULTS } from "../../../local/settings-check.ts";
import { quotedIn, sectionOf } from "./tables.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const GUIDES = readdirSync(join(ROOT, "docs/guides")).map((name) => `docs/guides/${name}`);
const PAGES = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

function blocks(path: string, language: string): string[] {
  const found = read(path).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"));
  return [...found].map((match) => match[1] ?? "");
}

describe.each(GUIDES)("%s", (path) => {
  it.each(blocks(path, "yaml").map((text) => ({ text })))(
    "shows a good service file",
    ({ text }) => {
      const { services, errors, warnings } = parseServiceFile("/service.yaml", text, {});
      expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
      expect(services).toHaveLength(1);
    },
  );

  it("uses commands and options that exist", () => {
    const lines = blocks(path, "sh").flatMap((text) => text.split("\n"));
    const commands = lines.flatMap((line) => {
      const [, words] = /^npx pilotlight (.*)$/.exec(line) ?? [];
      const [, files] = /^npm start -- (.*)$/.exec(line) ?? [];
      return words ?? (files === undefined ? [] : `up ${files}`);
    });
    for (const words of commands) {
      const [name, ...args] = words.split(" ");
      const command = COMMANDS.find((candidate) => candidate.name === name);
      expect(command, words).toBeDefined();
      if (command === undefined) continue;
      parseArgs({ args, options: parserOptions(command), allowPositionals: true });
    }
  });

  it("names only reasons that exist", () => {
    const named = [...read(path).matchAll(/\b[45]\d\d,? `(?:Pilotlight-Reason: )?(\w+)`/g)];
    for (const [, reason = ""] of named) expect(Object.keys(WIRE_REASONS)).toContain(reason);
  });
});

it.each(PAGES)("%s has links that lead somewhere", (path) => {
  const links = [...read(path).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(
    (match) => match[1] ?? "",
  );
  for (const link of links.filter((target) => !/^https?:/.test(target))) {
    expect(existsSync(join(ROOT, dirname(path), link)), link).toBe(true);
  }
});

describe("docs/guides/tune-scaling.md", () => {
  const section = sectionOf(read("docs/guides/tune-scaling.md"), "Demand");
  const rows = [...section.matchAll(/^\| (\d.*) \|$/gm)].map((match) => {
    const [slots, utilization, mean, buffer = "", min, max, pods] = (match[1] ?? "").split(" | ");
    return { slots, utilization, mean, buffer, min, max, pods };
  });

  it("has worked numbers", () => expect(rows.length).toBeGreaterThan(10));

  it.each(rows)("$slots slots, $mean in flight, buffer $buffer: $pods pods", (row) => {
    const prefix = "autoscaling.knative.dev/";
    const annotations = {
      [`${prefix}target-utilization-percentage`]: row.utilization ?? "",
      [`${prefix}min-scale`]: row.min ?? "",
      [`${prefix}max-scale`]: row.max ?? "",
      "pilotlight.dev/scaling-buffer": row.buffer,
    };
    const input = { annotations, requestsGpu: false, containerConcurrency: Number(row.slots) };
    const { settings, errors } = readSettings(input, LOCAL_DEFAULTS);
    expect(errors).toEqual([]);
    const mean = { concurrency: Number(row.mean), rate: 0 };
    const { asked } = askForLoad({
      settings,
      mean,
      shortMean: { concurrency: 0, rate: 0 },
      nowMs: 0,
      resourcePercent: null,
      busy: 0,
      waiting: 0,
      aged: 0,
      readyPods: 1,
      livePods: 1,
      currentReplicas: 1,
      lastBurstAtMs: null,
    });
    const bounds = { min: settings.minScale, max: settings.maxScale };
    expect(clampPods(asked, bounds)).toBe(Number(row.pods));
  });

  it("names exactly the limits of a decision", () => {
    const source = read("autoscaler/core/decision.ts");
    const type = /export type Limit =(.*?);/s.exec(source)?.[1] ?? "";
    const limits = [...type.matchAll(/"([a-z-]+)"/g)].map((match) => match[1] ?? "");
    const text = sectionOf(read("docs/guides/tune-scaling.md"), "Why so many pods?");
    expect(quotedIn(text.slice(text.indexOf("These limits")))).toEqual(limits);
  });
});
