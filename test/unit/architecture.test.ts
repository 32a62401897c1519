/**
 * Who may import whom. The table is data; each source file's import lines are held against it, and
 * each offence names both files and the reason. Explained in docs/architecture.md.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

interface Rule {
  /** Longest matching prefix of the importing file wins. */
  readonly files: string;
  /** Path prefixes that may be imported; own folder unless said otherwise. */
  readonly may: readonly string[];
  readonly mayNot?: readonly string[];
  readonly npm: readonly string[];
  readonly why: string;
}

const PURE = "pure code decides; it gets time and dice as arguments and does no I/O";

const RULES: readonly Rule[] = [
  {
    files: "common/",
    may: ["common/"],
    npm: [],
    why: "common is what all processes agree on and imports nothing",
  },
  { files: "activator/core/", may: ["activator/core/", "common/"], npm: [], why: PURE },
  { files: "queue-proxy/core/", may: ["queue-proxy/core/", "common/"], npm: [], why: PURE },
  { files: "autoscaler/core/", may: ["autoscaler/core/", "common/"], npm: [], why: PURE },
  { files: "cells/core/", may: ["cells/core/", "common/"], npm: [], why: PURE },
  {
    files: "cells/",
    may: ["cells/", "common/", "foundation/", "store/"],
    npm: [],
    why: "cells is what activator and autoscaler share about other clusters",
  },
  {
    files: "foundation/",
    may: ["foundation/", "common/"],
    npm: ["fastify", "prom-client", "cloudevents"],
    why: "foundation is below every process",
  },
  {
    files: "store/",
    may: ["store/", "common/"],
    npm: ["ioredis"],
    why: "only store talks to Valkey",
  },
  {
    files: "activator/",
    may: ["activator/", "cells/", "proxy/", "common/", "foundation/", "store/"],
    npm: ["fastify", "@fastify/http-proxy", "jose", "ws"],
    why: "edges never import each other",
  },
  {
    files: "queue-proxy/",
    may: [
      "queue-proxy/",
      "proxy/",
      "common/",
      "foundation/clock.ts",
      "foundation/config.ts",
      "foundation/logger.ts",
      "foundation/lifecycle.ts",
      "foundation/tracing/",
    ],
    npm: [],
    why: "the sidecar stands beside untrusted code without a store credential, and its start is part of each cold start",
  },
  {
    files: "proxy/",
    may: ["proxy/", "common/", "foundation/clock.ts"],
    npm: [],
    why: "the proxy core is shared by activator and queue-proxy",
  },
  {
    files: "autoscaler/kubernetes/",
    may: [
      "autoscaler/kubernetes/",
      "autoscaler/ports.ts",
      "autoscaler/timers.ts",
      "autoscaler/work-queue.ts",
      "autoscaler/core/",
      "common/",
      "foundation/logger.ts",
    ],
    npm: ["@kubernetes/client-node"],
    why: "the Kubernetes client stays in one folder",
  },
  {
    files: "autoscaler/simulator/",
    may: [
      "autoscaler/simulator/",
      "autoscaler/core/",
      "activator/core/",
      "queue-proxy/core/",
      "cells/core/",
      "common/",
    ],
    npm: [],
    why: "the simulator runs the cores that ship",
  },
  {
    files: "autoscaler/",
    may: ["autoscaler/", "cells/", "common/", "foundation/", "store/"],
    mayNot: ["autoscaler/kubernetes/", "autoscaler/webhook/"],
    npm: ["fastify"],
    why: "cluster or local is a choice of wiring, not an import",
  },
  {
    files: "autoscaler/main.ts",
    may: ["autoscaler/", "cells/", "common/", "foundation/", "store/"],
    npm: [],
    why: "the cluster wiring",
  },
  {
    files: "autoscaler/webhook",
    may: ["autoscaler/", "common/", "foundation/"],
    mayNot: ["autoscaler/main.ts", "autoscaler/controller.ts"],
    npm: [],
    why: "the webhook judges objects; it holds no store credential and decides no scale",
  },
  {
    files: "dashboard/",
    may: ["dashboard/", "common/", "foundation/", "store/"],
    npm: ["fastify", "@fastify/static"],
    why: "the dashboard reads only",
  },
  ...["dashboard/cluster/", "dashboard/main.ts"].map((files) => ({
    files,
    may: ["dashboard/", "autoscaler/", "common/", "foundation/", "store/"],
    mayNot: ["autoscaler/main.ts", "autoscaler/controller.ts", "autoscaler/webhook/"],
    npm: ["fastify"],
    why: "the dashboard's cluster wiring: it reads objects as the autoscaler does, and decides nothing",
  })),
  {
    files: "local/",
    may: ["local/", "cells/", "autoscaler/", "dashboard/", "foundation/", "store/", "common/"],
    mayNot: ["autoscaler/main.ts", "autoscaler/kubernetes/"],
    npm: ["yaml"],
    why: "local wires the same controller with local adapters; activator and queue-proxy are child processes",
  },
  {
    files: "cli/",
    may: [
      "cli/",
      "local/",
      "autoscaler/simulator/",
      "autoscaler/kubernetes/",
      "common/",
      "foundation/",
      // The demo makes the pages that it lets the example read.
      "examples/ocr/make-page.ts",
    ],
    npm: [],
    why: "the command line stands on top",
  },
];

const root = join(import.meta.dirname, "../..");
const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+"([^"]+)"|import\(\s*"([^"]+)"\s*\)/g;

function offencesOf(file: string, source: string): string[] {
  const rule = RULES.filter((candidate) => file.startsWith(candidate.files)).toSorted(
    (left, right) => right.files.length - left.files.length,
  )[0];
  if (rule === undefined) return [];
  const offences: string[] = [];
  for (const match of source.matchAll(IMPORT)) {
    const wanted = match[1] ?? match[2] ?? "";
    const offence = judge(rule, file, wanted);
    if (offence !== "") offences.push(offence);
  }
  return offences;
}

function judge(rule: Rule, file: string, wanted: string): string {
  if (wanted.startsWith("node:")) return "";
  if (wanted.startsWith(".")) {
    const path = relative(root, join(root, dirname(file), wanted));
    const allowed = rule.may.some((prefix) => path.startsWith(prefix));
    const banned = rule.mayNot?.some((prefix) => path.startsWith(prefix)) ?? false;
    return allowed && !banned ? "" : `${file} imports ${path}: not allowed, because ${rule.why}`;
  }
  const name = wanted
    .split("/")
    .slice(0, wanted.startsWith("@") ? 2 : 1)
    .join("/");
  return rule.npm.includes(name)
    ? ""
    : `${file} imports the package ${name}: not allowed, because ${rule.why}`;
}

const files = globSync(
  "{cells,common,foundation,store,proxy,activator,queue-proxy,autoscaler,local,dashboard,cli}/**/*.ts",
  {
    cwd: root,
  },
);

describe("import table", () => {
  it("finds the sources", () => {
    expect(files.length).toBeGreaterThan(20);
  });

  it("holds for every source file", () => {
    const offences = files.flatMap((file) =>
      offencesOf(file, readFileSync(join(root, file), "utf8")),
    );
    expect(offences).toEqual([]);
  });

  it("reports an offence with both names and the reason", () => {
    expect(
      offencesOf("queue-proxy/probe.ts", 'import { createStore } from "../store/store.ts";\n'),
    ).toEqual([
      expect.stringContaining(
        "queue-proxy/probe.ts imports store/store.ts: not allowed, because the sidecar",
      ),
    ]);
    expect(offencesOf("common/x.ts", 'import Redis from "ioredis";\n')).toHaveLength(1);
    expect(
      offencesOf("local/x.ts", 'const a = await import("../autoscaler/main.ts");\n'),
    ).toHaveLength(1);
    expect(
      offencesOf(
        "store/x.ts",
        'import { readFileSync } from "node:fs";\nimport { Redis } from "ioredis";\n',
      ),
    ).toEqual([]);
  });
});

describe("pure folders", () => {
  const BANNED =
    /\b(Date\.now|Math\.random|performance\.now|setTimeout|setInterval|process\.|new Date\(\))/;

  it("use neither the clock, nor dice, nor the process", () => {
    const pure = files.filter((file) => file.startsWith("common/") || file.includes("/core/"));
    const offences = pure.filter((file) =>
      BANNED.test(withoutComments(readFileSync(join(root, file), "utf8"))),
    );
    expect(offences).toEqual([]);
  });
});

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\/\/.*$/gm, "");
}
