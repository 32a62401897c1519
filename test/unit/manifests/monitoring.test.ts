/**
 * Alerts and the Grafana dashboard against the metrics that exist: every name and every label in an
 * expression is documented (and the documents are compared with the code), every alert has its
 * paragraph, and Prometheus's own checker reads the rules where it is installed.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { readPage, rowsOf, sorted } from "../docs/tables.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FOLDER = join(ROOT, "manifests/overlays/monitoring");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string };
}
interface RuleGroups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}
interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

// Both files are ours; their shapes are what this test is about.
const { spec } = parse(readFileSync(join(FOLDER, "alerts.yaml"), "utf8")) as {
  readonly spec: RuleGroups;
};
const grafana = JSON.parse(readFileSync(join(FOLDER, "pilotlight.json"), "utf8")) as {
  readonly panels: readonly Panel[];
};
const rules = spec.groups.flatMap((group) => group.rules);

/** Labels of each documented metric; of a histogram under the names of its series too. */
function documentedMetrics(): Map<string, ReadonlySet<string>> {
  const page = readPage("metrics.md");
  const metrics = new Map<string, ReadonlySet<string>>();
  for (const heading of [...page.matchAll(/^## (.*)$/gm)].map((match) => match[1] ?? "")) {
    for (const [name = "", type = "", labels = ""] of rowsOf(page, heading)) {
      const known = new Set(labels.split(",").map((label) => label.trim()));
      metrics.set(name, known);
      if (type !== "histogram") continue;
      for (const suffix of ["_bucket", "_sum", "_count"]) metrics.set(name + suffix, known);
    }
  }
  return metrics;
}

/** Given by Prometheus to whatever it scrapes. */
const TARGET_LABELS = ["job", "instance", "pod", "namespace"];
/** Of an expression, as far as it is written here. */
const SERIES = /\b((?:pilotlight|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g;

const metrics = documentedMetrics();
const expressions = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...grafana.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr }) => ({ where: `${title} ${refId}`, expr })),
  ),
];

describe("expressions", () => {
  it("are many, so that nothing below is true of nothing", () => {
    expect(expressions.length).toBeGreaterThan(25);
    expect(metrics.size).toBeGreaterThan(40);
  });

  it.each(expressions)("$where asks for metrics and labels that exist", ({ expr }) => {
    const series = [...expr.matchAll(SERIES)];
    expect(series.length > 0 || /\bup\{/.test(expr), expr).toBe(true);
    for (const [, name = "", matchers = ""] of series) {
      const labels = metrics.get(name);
      expect(labels, name).toBeDefined();
      const used = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map((match) => match[1] ?? "");
      for (const label of used) {
        expect(labels?.has(label) === true || TARGET_LABELS.includes(label), label).toBe(true);
      }
    }
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap((match) =>
      (match[1] ?? "").split(",").map((label) => label.trim()),
    );
    const known = series.flatMap(([, name = ""]) => [...(metrics.get(name) ?? [])]);
    for (const label of grouped) expect([...known, ...TARGET_LABELS, "le"]).toContain(label);
  });
});

describe("alerts", () => {
  it("each have their paragraph for the night", () => {
    const guide = readFileSync(join(ROOT, "docs/guides/run-at-night.md"), "utf8");
    const named = [...guide.matchAll(/^\| `(Pilotlight\w+)` \|/gm)].map((match) => match[1]);
    expect(sorted(named)).toEqual(sorted(rules.map(({ alert }) => alert)));
  });

  it("say how bad it is and what happened", () => {
    for (const { labels, annotations } of rules) {
      expect(["critical", "warning"]).toContain(labels["severity"]);
      expect(annotations.summary).toMatch(/^[A-Z].*\.$|\)\.$/s);
    }
  });
});

describe("the Grafana dashboard", () => {
  it("has panels with their own ids, side by side and not upon each other", () => {
    const ids = grafana.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const cells = new Set<string>();
    for (const { gridPos, title } of grafana.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(cells.has(`${x} ${y}`), `${title} stands on another panel`).toBe(false);
          cells.add(`${x} ${y}`);
        }
      }
    }
  });
});

const promtool = process.env["PILOTLIGHT_PROMTOOL"] ?? "promtool";
const hasPromtool = spawnSync(promtool, ["--version"]).status === 0;

describe.skipIf(!hasPromtool)("Prometheus itself", () => {
  it("reads the rules, and fires and does not fire as meant", () => {
    const folder = mkdtempSync(join(tmpdir(), "pilotlight-rules-"));
    try {
      writeFileSync(join(folder, "rules.yaml"), stringify(spec));
      const check = spawnSync(promtool, ["check", "rules", "rules.yaml"], {
        cwd: folder,
        encoding: "utf8",
      });
      expect(check.stdout + check.stderr).toContain(`SUCCESS: ${rules.length} rules found`);
      writeFileSync(join(folder, "test.yaml"), stringify(firing()));
      const test = spawnSync(promtool, ["test", "rules", "test.yaml"], {
        cwd: folder,
        encoding: "utf8",
      });
      expect(test.stdout + test.stderr).toContain("SUCCESS");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** A service that fails one call in ten, and one that fails one in a hundred. */
function firing(): unknown {
  const of = (service: string): string => `{namespace="default",service="${service}"}`;
  const series = (metric: string, service: string, more: string, step: number): object => ({
    series: metric + of(service).replace("}", `${more}}`),
    values: `0+${step}x40`,
  });
  return {
    rule_files: ["rules.yaml"],
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: [
          series("pilotlight_run_total", "bad", "", 100),
          series("pilotlight_run_errors", "bad", ',reason="queue_full"', 10),
          series("pilotlight_run_total", "good", "", 100),
          series("pilotlight_run_errors", "good", ',reason="queue_full"', 1),
          { series: "pilotlight_degraded", values: "0x20 1x20" },
        ],
        alert_rule_test: [
          {
            eval_time: "30m",
            alertname: "PilotlightErrors",
            exp_alerts: [
              {
                exp_labels: { namespace: "default", service: "bad", severity: "warning" },
                exp_annotations: {
                  summary: "More than 5 % of the requests of default/bad fail.",
                },
              },
            ],
          },
          { eval_time: "15m", alertname: "PilotlightStoreAway", exp_alerts: [] },
          {
            eval_time: "30m",
            alertname: "PilotlightStoreAway",
            exp_alerts: [
              {
                exp_labels: { severity: "critical" },
                exp_annotations: {
                  summary: rules.find(({ alert }) => alert === "PilotlightStoreAway")?.annotations
                    .summary,
                },
              },
            ],
          },
        ],
      },
    ],
  };
}
