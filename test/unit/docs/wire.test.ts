/** docs/reference/wire.md against the contracts and the server options in proxy/, both ways. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as headers from "../../../common/contracts/headers.ts";
import * as workflow from "../../../common/contracts/workflow-headers.ts";
import { RUN_FILES } from "../../../local/run-folder.ts";
import { createKeys } from "../../../store/keys.ts";
import { quotedIn, readPage, rowsOf, sectionOf, sorted } from "./tables.ts";

const page = readPage("wire.md");
const ROOT = join(import.meta.dirname, "../../..");
const source = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Values of the exported constants whose names end in `_HEADER`. */
function namesOf(module: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(module).flatMap(([name, value]) =>
    name.endsWith("_HEADER") && typeof value === "string" ? [value] : [],
  );
}

/** Field names of an exported interface; types are gone when the program runs. */
function fieldsOf(path: string, name: string): string[] {
  const body = new RegExp(`export interface ${name} \\{\\n(.*?)\\n\\}`, "s").exec(
    source(path),
  )?.[1];
  if (body === undefined) throw new Error(`${path} has no interface ${name}`);
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map((match) => match[1] ?? "");
}

/** Of the HTTP/2 calls: where the connection comes from, and the group of the settings. */
const NO_LIMITS: ReadonlySet<string> = new Set(["settings", "createConnection", "noDelay"]);

const names = (heading: string): string[] => rowsOf(page, heading).map(([name = ""]) => name);

describe("docs/reference/wire.md: headers", () => {
  it("lists exactly ours and Knative's", () => {
    const documented = [...names("Our headers"), ...names("Knative's headers")];
    expect(sorted(documented)).toEqual(sorted(namesOf(headers)));
  });

  it("says which are internal", () => {
    const documented = rowsOf(page, "Our headers").filter((cells) => cells[2] === "yes");
    expect(sorted(documented.map(([name]) => name))).toEqual(sorted(headers.INTERNAL_HEADERS));
  });

  it("lists exactly those of workflows", () => {
    expect(sorted(names("Workflow headers"))).toEqual(sorted(namesOf(workflow)));
    const section = sectionOf(page, "Workflow headers");
    for (const alias of workflow.TENANT_ALIAS_HEADERS) expect(section).toContain(`\`${alias}\``);
  });

  it("lists exactly the hop-by-hop ones", () => {
    const list = /nothing hop-by-hop:(.*?), and what/s.exec(page)?.[1] ?? "";
    expect(sorted(quotedIn(list))).toEqual(sorted(headers.HOP_BY_HOP_HEADERS));
  });

  it("lists exactly the agents that count as probes", () => {
    const sentence = /^User agents that count.*?\n\n/ms.exec(page)?.[0] ?? "";
    const agents = [
      headers.KUBELET_PROBE_AGENT,
      headers.ACTIVATOR_PROBE_AGENT,
      headers.AUTOSCALER_PROBE_AGENT,
    ];
    expect(quotedIn(sentence)).toEqual(agents);
  });
});

describe("docs/reference/wire.md: messages and files", () => {
  it.each([
    { heading: "Push: report", name: "PushReport" },
    { heading: "Push: reply", name: "PushReply" },
  ])("lists exactly the fields of $name", ({ heading, name }) => {
    expect(names(heading)).toEqual(fieldsOf("common/contracts/push.ts", name));
  });

  it("lists exactly the marks of a start", () => {
    const row = rowsOf(page, "Push: report").find(([name]) => name === "marks");
    const marks = fieldsOf("common/contracts/routing.ts", "StartMarks");
    expect(quotedIn(row?.[1] ?? "")).toEqual(marks);
  });

  it("lists exactly the fields of an assignment", () => {
    const list = /^An assignment:(.*?) \(server/ms.exec(page)?.[1] ?? "";
    expect(quotedIn(list)).toEqual(fieldsOf("common/contracts/channels.ts", "Assignment"));
  });

  it.each([
    { file: "run.json", interfaces: ["RunRecord", "ActivatorRecord"] },
    { file: "routes.json", interfaces: ["RouteTable", "RouteEntry", "RouteTarget"] },
    { file: "pods/<uid>.json", interfaces: ["PodRecord"] },
  ])("lists exactly the fields of $file", ({ file, interfaces }) => {
    const start = page.indexOf(`Fields of \`${file}\`:`);
    const paragraph = page.slice(start, page.indexOf("\n\n", start));
    const fields = interfaces.flatMap((name) => fieldsOf("common/contracts/local-run.ts", name));
    expect(sorted(new Set(quotedIn(paragraph).slice(1)))).toEqual(sorted(new Set(fields)));
  });

  it("lists exactly the entries of the run folder", () => {
    expect(sorted(names("Files of a local run"))).toEqual(sorted(Object.values(RUN_FILES)));
  });

  it("names the channels and keys as the store does", () => {
    const keys = createKeys("PREFIX");
    expect(names("Messages through Valkey")).toEqual([
      `${keys.assignPrefix}ACTIVATOR`,
      keys.wakeChannel,
      keys.configChannel,
      keys.cellsChannel,
    ]);
    const section = sectionOf(page, "Messages through Valkey");
    expect(section).toContain(`\`${keys.one("namespace/name", "meta").replace("meta", "NAME")}\``);
    expect(section).toContain(`\`${keys.revisions}\``);
  });
});

describe("docs/reference/wire.md: defaults", () => {
  it("lists exactly the options of the HTTP/1.1 server", () => {
    const text = source("proxy/http1-front.ts");
    const call = /createServer\(\{(.*?)\n {4}\}\);/s.exec(text)?.[1] ?? "";
    const options = [...call.matchAll(/^ {6}(\w+):/gm)].map((match) => match[1]);
    const assigned = [...text.matchAll(/\bserver\.(\w+) = /g)].map((match) => match[1]);
    expect(options.length).toBeGreaterThan(10);
    expect(sorted(names("Defaults that we set: HTTP/1.1 server"))).toEqual(
      sorted([...options, ...assigned]),
    );
  });

  it("lists exactly the options of HTTP/2", () => {
    const calls = [
      /createServer\(\{(.*?)\n {4}\}\);/s.exec(source("proxy/h2c-front.ts")),
      /http2\(\)\.connect\([^{]*\{(.*?)\n {4}\}\);/s.exec(source("proxy/h2c-session.ts")),
    ];
    const text = calls.map((call) => call?.[1] ?? "").join("\n");
    const options = [...text.matchAll(/\b(\w+): /g)].map((match) => match[1] ?? "");
    const known = new Set(options.filter((name) => !NO_LIMITS.has(name)));
    expect(known.size).toBeGreaterThan(4);
    expect(sorted(names("Defaults that we set: HTTP/2"))).toEqual(sorted(known));
  });

  it.each([
    { path: "queue-proxy/reporter.ts", name: "PUSH_TIMEOUT_MS", seconds: 2 },
    { path: "activator/activator.ts", name: "HEAD_TIMEOUT_MS", seconds: 30 },
    { path: "activator/activator.ts", name: "CLIENT_KEEP_ALIVE_MS", seconds: 75 },
    { path: "activator/activator.ts", name: "UPSTREAM_IDLE_MS", seconds: 60 },
    { path: "activator/server.ts", name: "KEEP_ALIVE_MS", seconds: 90 },
    { path: "queue-proxy/front.ts", name: "HEAD_TIMEOUT_MS", seconds: 60 },
    { path: "queue-proxy/front.ts", name: "KEEP_ALIVE_MS", seconds: 120 },
    { path: "queue-proxy/front.ts", name: "CONTAINER_IDLE_MS", seconds: 4 },
    { path: "queue-proxy/limits.ts", name: "CONNECT_MS", seconds: 10 },
    { path: "queue-proxy/limits.ts", name: "NET_MS", seconds: 5 },
    { path: "proxy/attempt.ts", name: "CONTINUE_WAIT_MS", seconds: 1 },
    { path: "proxy/client-connection.ts", name: "LINGER_TOTAL_MS", seconds: 30 },
    { path: "proxy/client-connection.ts", name: "LINGER_SILENCE_MS", seconds: 5 },
    { path: "proxy/upstream.ts", name: "MAX_HINTED_MS", seconds: 90 },
    { path: "store/client.ts", name: "CONNECT_TIMEOUT_MS", seconds: 2 },
  ])("$name of $path is $seconds s, as the page says", ({ path, name, seconds }) => {
    const value = new RegExp(`^const ${name} = ([\\d_]+);$`, "m").exec(source(path))?.[1] ?? "";
    expect(Number(value.replaceAll("_", ""))).toBe(seconds * 1_000);
    expect(page).toMatch(new RegExp(`\\b${seconds} s\\b`));
  });
});
