/** Activators by name: one question with the whole name, and what else is tried. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDnsDirectory } from "../../../queue-proxy/activator-directory.ts";

let folder: string;
let resolver: string;
let asked: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilotlight-dns-"));
  resolver = join(folder, "resolv.conf");
  asked = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const SEARCH = "search default.svc.corp.example svc.corp.example corp.example\noptions ndots:5\n";
const WHOLE = "activator-push.knative-serving.svc.corp.example.";
const SHORT = "activator-push.knative-serving.svc";

function directory(known: Readonly<Record<string, readonly string[]>>) {
  return createDnsDirectory("knative-serving", {
    resolver,
    lookup: async (name) => {
      asked.push(name);
      const found = known[name];
      if (found === undefined) throw new Error("not found");
      return found.map((address) => ({ address }));
    },
  });
}

describe("the directory of a cluster", () => {
  it("asks once, by the whole name", async () => {
    writeFileSync(resolver, SEARCH);
    const found = await directory({ [WHOLE]: ["10.0.0.1", "10.0.0.2"] }).list();
    expect(found).toEqual([
      { host: "10.0.0.1", port: 8014 },
      { host: "10.0.0.2", port: 8014 },
    ]);
    expect(asked).toEqual([WHOLE]);
  });

  it("tries the short name where the whole one leads nowhere", async () => {
    writeFileSync(resolver, SEARCH);
    expect(await directory({ [SHORT]: ["10.0.0.1"] }).list()).toHaveLength(1);
    expect(asked).toEqual([WHOLE, SHORT]);
  });

  it("asks by the short name where no domain is known, and finds nobody without failing", async () => {
    expect(await directory({}).list()).toEqual([]);
    expect(asked).toEqual([SHORT]);
  });
});
