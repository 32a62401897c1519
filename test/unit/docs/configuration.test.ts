/** docs/reference/configuration.md against the tables that read environments, both ways. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readCellConfig } from "../../../activator/cell-config.ts";
import { readActivatorConfig } from "../../../activator/config.ts";
import { readAutoscalerConfig } from "../../../autoscaler/config.ts";
import { readClusterDefaults } from "../../../autoscaler/core/settings/config-maps.ts";
import { PLATFORM_DEFAULTS, STOCK_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import { readWebhookConfig } from "../../../autoscaler/webhook/config.ts";
import { containerEnvironment, sidecarEnvironment } from "../../../local/pod-environment.ts";
import { PLACE, podPlan } from "./pod-fixture.ts";
import { readDashboardConfig } from "../../../dashboard/cluster/config.ts";
import { readQueueProxyConfig } from "../../../queue-proxy/config.ts";
import { quotedIn, readPage, rowsOf, sorted } from "./tables.ts";

const page = readPage("configuration.md");
type Env = Readonly<Record<string, string | undefined>>;

/** Names that a reader asks for; it must not look at the others. */
function asked(read: (env: Env) => unknown, env: Env): string[] {
  const names = new Set<string>();
  const watched = new Proxy(env, {
    get: (target, name) => {
      names.add(String(name));
      return target[String(name)];
    },
  });
  read(watched);
  return [...names];
}

/** The activator's identity has a part drawn anew for each life. */
const readActivator = (env: Env): object => ({ ...readActivatorConfig(env), activatorId: "" });
const ACTIVATOR: Env = { PILOTLIGHT_STORE_URL: "redis://127.0.0.1:1" };
const readAutoscaler = (env: Env): object => {
  const { holder, ...config } = readAutoscalerConfig(env);
  return { ...config, holder: holder.replace(/\.[0-9a-f]+$/, "") };
};
const SIDECAR: Env = {
  SERVING_NAMESPACE: "default",
  SERVING_CONFIGURATION: "echo",
  SERVING_REVISION: "echo-00001",
  SERVING_POD: "echo-00001-abc",
  SERVING_POD_IP: "10.0.0.1",
  QUEUE_SERVING_PORT: "8012",
  CONTAINER_CONCURRENCY: "1",
  REVISION_TIMEOUT_SECONDS: "900",
  USER_PORT: "8080",
};

describe.each([
  { heading: "Activator", read: readActivator, needed: ACTIVATOR },
  { heading: "Queue-proxy", read: readQueueProxyConfig, needed: SIDECAR },
  { heading: "Webhook", read: readWebhookConfig, needed: {} },
  { heading: "Dashboard in a cluster", read: readDashboardConfig, needed: ACTIVATOR },
  { heading: "Autoscaler in a cluster", read: readAutoscaler, needed: ACTIVATOR },
])("docs/reference/configuration.md: $heading", ({ heading, read, needed }) => {
  const rows = rowsOf(page, heading).map(([name = "", value = "", fallback = ""]) => ({
    name,
    range: quotedIn(value).find((token) => token.includes("..")) ?? "",
    words: quotedIn(value).filter((token) => /^[a-z]+$/.test(token)),
    fallback: quotedIn(fallback)[0] ?? "",
    isRequired: fallback === "required",
  }));
  const withValue = (name: string, value: string): object => read({ ...needed, [name]: value });

  it("lists exactly the variables that are read", () => {
    const names = rows.map(({ name }) => name);
    expect(sorted(names)).toEqual(sorted(asked(read, needed)));
  });

  it("marks exactly those as required without which it does not start", () => {
    const required = rows.filter(({ isRequired }) => isRequired).map(({ name }) => name);
    expect(sorted(required)).toEqual(sorted(Object.keys(needed)));
    for (const name of required) {
      expect(() => read({ ...needed, [name]: undefined })).toThrow(`${name}: is not set`);
    }
  });

  it.each(rows.filter(({ fallback }) => fallback !== ""))(
    "$name is $fallback where it is absent",
    ({ name, fallback }) => expect(withValue(name, fallback)).toEqual(read(needed)),
  );

  it.each(rows.filter(({ range }) => range !== ""))("$name takes $range", ({ name, range }) => {
    const [low = "", high = ""] = range.split("..");
    for (const good of [low, high]) expect(() => withValue(name, good)).not.toThrow();
    expect(() => withValue(name, "99999999999")).toThrow(`an integer from ${low} to ${high}`);
  });

  it.each(rows.filter(({ words }) => words.length > 1))("$name takes its words", (row) => {
    for (const word of row.words) expect(() => withValue(row.name, word)).not.toThrow();
  });
});

describe("docs/reference/configuration.md: local mode", () => {
  it("names the local defaults of the activator", () => {
    const local = { ...ACTIVATOR, PILOTLIGHT_RUN_FOLDER: "/run" };
    const written: Env = Object.fromEntries(
      rowsOf(page, "Activator").flatMap(([name = "", , fallback = ""]) => {
        const value = /local `([^`]+)`/.exec(fallback)?.[1];
        return value === undefined ? [] : [[name, value]];
      }),
    );
    expect(Object.keys(written)).toHaveLength(4);
    expect(readActivator({ ...local, ...written })).toEqual(readActivator(local));
    expect(readActivator(local)).not.toEqual({ ...readActivator(ACTIVATOR), runFolder: "/run" });
  });

  it("lists exactly the variables that local mode, command line and scripts read", () => {
    const names = ["local", "cli", "scripts"].flatMap(sourcesIn).flatMap((text) => {
      return [...text.matchAll(/\benv(?:\["|\.)([A-Z][A-Z_]+)\b/g)].map((match) => match[1] ?? "");
    });
    const documented = rowsOf(page, "Local mode and the npm scripts").map(([name]) => name);
    expect(sorted(documented)).toEqual(sorted([...new Set(names)]));
  });

  it("lists exactly what a container gets", () => {
    const host = { env: {}, ingressUrl: "http://127.0.0.1:8080", compileCache: "/cache" };
    const given = Object.keys(containerEnvironment(podPlan(), PLACE, host));
    const documented = rowsOf(page, "What a container gets").map(([name]) => name);
    expect(sorted(documented)).toEqual(sorted(given));
  });

  it("lists exactly what a container does not inherit", () => {
    const line = /less the platform's own words:([^]*?)\.\n/.exec(page)?.[1] ?? "";
    const words = quotedIn(line);
    const env = Object.fromEntries(
      words.map((word) => [word.endsWith("_") ? `${word}X` : word, "1"]),
    );
    const host = { env: { ...env, MINE: "1" }, ingressUrl: "", compileCache: "" };
    const given = containerEnvironment(podPlan(), PLACE, host);
    for (const name of Object.keys(env)) expect(given[name], name).not.toBe("1");
    expect(given["MINE"]).toBe("1");
  });

  it("lists exactly what the sidecar is given and does not read", () => {
    const extras = { compileCache: "/cache", gatePort: 1, path: "/bin" };
    const given = Object.keys(sidecarEnvironment(podPlan(), PLACE, extras));
    const read = new Set([...asked(readQueueProxyConfig, SIDECAR), "PATH", "NODE_COMPILE_CACHE"]);
    const paragraph = /^Given by Knative and not read:.*?\n\n/ms.exec(page)?.[0] ?? "";
    const unread = given.filter((name) => !read.has(name));
    expect(sorted(quotedIn(paragraph))).toEqual(sorted(unread));
  });
});

describe("docs/reference/configuration.md: defaults of a cluster", () => {
  const rows = rowsOf(page, "Defaults of a cluster");
  const MAPS = {
    "config-autoscaler": "autoscaler",
    "config-defaults": "defaults",
    "config-deployment": "deployment",
  } as const;
  const mapOf = (name: string): (typeof MAPS)[keyof typeof MAPS] | undefined =>
    Object.entries(MAPS).find(([map]) => map === name)?.[1];

  it("lists exactly the keys that are read, each in its map", () => {
    for (const [key = "", map = ""] of rows) {
      const field = mapOf(map);
      expect(field, `${key} in ${map}`).toBeDefined();
      if (field === undefined) continue;
      const { errors } = readClusterDefaults({ [field]: { [key]: "?" } }, PLATFORM_DEFAULTS);
      expect(errors.join()).toContain(`${map} ${key}`);
    }
    const source = readFileSync(join(ROOT, "autoscaler/core/settings/config-maps.ts"), "utf8");
    const tables = source.slice(0, source.indexOf("export function readClusterDefaults"));
    const keys = [...tables.matchAll(/^ {2}"([a-z./-]+)": /gm)].map((match) => match[1]);
    expect(sorted(rows.map(([key]) => key))).toEqual(sorted(keys));
  });

  it.each([
    { column: 2, name: "ours", base: PLATFORM_DEFAULTS },
    { column: 3, name: "stock", base: STOCK_DEFAULTS },
  ])("gives the values that are $name", ({ column, base }) => {
    const maps: Record<string, Record<string, string>> = {};
    for (const row of rows) {
      const value = /^(-?\d+s?|true|false)(?=$|;|,)/.exec(row[column] ?? "")?.[1];
      const field = mapOf(row[1] ?? "");
      if (value !== undefined && field !== undefined) (maps[field] ??= {})[row[0] ?? ""] = value;
    }
    const { defaults, errors } = readClusterDefaults(maps, base);
    expect(errors).toEqual([]);
    expect(defaults).toEqual(base);
    expect(Object.keys(maps["autoscaler"] ?? {})).toHaveLength(19);
  });
});

const ROOT = join(import.meta.dirname, "../../..");

function sourcesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(ts|mjs)$/.test(name))
    .map((name) => readFileSync(join(ROOT, folder, name), "utf8"));
}

describe("docs/reference/configuration.md: cells", () => {
  it("lists exactly the variables that are read", () => {
    const read = asked(readCellConfig, {}).filter((name) => name !== "PILOTLIGHT_RUN_FOLDER");
    const documented = rowsOf(page, "Cells").map(([name = ""]) => name);
    expect(sorted(documented)).toEqual(sorted(read));
  });

  it("refuses several keepers of one share", () => {
    const cell = { ...ACTIVATOR, PILOTLIGHT_CELL: "eu" };
    expect(() => readAutoscaler({ ...cell, PILOTLIGHT_SHARDS: "1" })).not.toThrow();
    expect(() => readAutoscaler({ ...cell, PILOTLIGHT_SHARDS: "2" })).toThrow(
      'PILOTLIGHT_SHARDS: got "2", expected 1 where PILOTLIGHT_CELL is set',
    );
  });
});
