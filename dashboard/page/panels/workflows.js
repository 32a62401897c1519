/** Workflows as timelines on one scale: what each stage took, what it was given, and the debt. */
import { h } from "../lib/dom.js";
import { ago, duration } from "../lib/format.js";
import { empty, ms, panel } from "./words.js";

const TONES = /** @type {const} */ ({ running: "calm", met: "good", late: "bad", ended: "calm" });
const SAYS = /** @type {const} */ ({
  running: "running",
  met: "in time",
  late: "late",
  ended: "ended",
});

/**
 * @param {readonly import("../../workflow-row.ts").WorkflowRow[]} rows
 * @param {number} nowAt
 */
export function workflows(rows, nowAt) {
  if (rows.length === 0) {
    return panel(
      "Workflows",
      empty("No workflow yet.", "Calls that bear x-workflow-id are shown here, stage by stage."),
    );
  }
  const scaleMs = Math.max(...rows.map(({ tookMs, sloMs }) => Math.max(tookMs, sloMs)));
  return panel(
    "Workflows",
    h(
      "ul",
      { class: "legend" },
      legend("within", "within its budget"),
      legend("over", "over its budget"),
      legend("limit", "objective"),
    ),
    h(
      "ol",
      { class: "waterfalls workflows" },
      ...rows.map((row) =>
        h(
          "li",
          { "data-key": `${row.namespace}/${row.tenant}/${row.id}` },
          line(row, scaleMs, nowAt),
        ),
      ),
    ),
  );
}

/** @param {string} kind @param {string} label */
function legend(kind, label) {
  return h("li", {}, h("i", { class: `mark stage-${kind}` }), label);
}

/**
 * @param {import("../../workflow-row.ts").WorkflowRow} row
 * @param {number} scaleMs
 * @param {number} nowAt
 */
function line(row, scaleMs, nowAt) {
  return h(
    "details",
    {},
    h(
      "summary",
      {},
      h(
        "span",
        { class: "who" },
        h("b", {}, row.workflowClass || "workflow"),
        h("span", { class: "soft" }, `${row.id}, ${ago(nowAt - row.at)}`),
      ),
      h("span", { class: "stages" }, ...stages(row, scaleMs), ...limit(row, scaleMs)),
      h(
        "span",
        { class: "sum" },
        ms(row.tookMs),
        h("span", { class: `soft ${TONES[row.state]}` }, outcome(row)),
      ),
    ),
    h("p", { class: "hint" }, sentence(row)),
    h(
      "table",
      { class: "parts" },
      h(
        "thead",
        {},
        h("tr", {}, ...["Stage", "", "Took", "Budget", "Debt"].map((name) => h("th", {}, name))),
      ),
      h("tbody", {}, ...row.stages.map((stage) => stageRow(stage, row, scaleMs))),
    ),
  );
}

/**
 * Whether it is in time, and what its stages owe each other so far.
 * @param {import("../../workflow-row.ts").WorkflowRow} row
 */
function outcome({ state, sloMs, debtMs }) {
  if (sloMs === 0 || debtMs <= 0) return SAYS[state];
  return `${SAYS[state]}, debt ${duration(debtMs)}`;
}

/** @param {import("../../workflow-row.ts").WorkflowRow} row @param {number} scaleMs */
function stages(row, scaleMs) {
  return row.stages.flatMap((stage) => parts(stage, row, scaleMs));
}

/**
 * A stage that overran is drawn in two parts: what it was given, and what it took beyond.
 * @param {import("../../workflow-row.ts").WorkflowStageRow} stage
 * @param {import("../../workflow-row.ts").WorkflowRow} row
 * @param {number} scaleMs
 */
function parts(stage, row, scaleMs) {
  const given = row.sloMs === 0 ? Infinity : Math.max(0, stage.budgetMs);
  const within = Math.min(stage.tookMs, given);
  const over = stage.tookMs - within;
  const title = `${stage.stage}: ${duration(stage.tookMs)} of ${duration(Math.max(0, stage.budgetMs))}`;
  return [
    bar("within", stage.fromMs, within, { scaleMs, title }),
    ...(over > 0 ? [bar("over", stage.fromMs + within, over, { scaleMs, title })] : []),
  ];
}

/**
 * @param {string} kind
 * @param {number} fromMs
 * @param {number} lengthMs
 * @param {{ scaleMs: number, title: string }} how
 */
function bar(kind, fromMs, lengthMs, { scaleMs, title }) {
  return h("i", {
    class: `stage-${kind}`,
    style: { "--from": share(fromMs, scaleMs), "--length": share(lengthMs, scaleMs) },
    title,
  });
}

/** @param {import("../../workflow-row.ts").WorkflowRow} row @param {number} scaleMs */
function limit(row, scaleMs) {
  if (row.sloMs === 0) return [];
  const title = `objective ${duration(row.sloMs)}`;
  return [h("i", { class: "stage-limit", style: { "--from": share(row.sloMs, scaleMs) }, title })];
}

/** @param {import("../../workflow-row.ts").WorkflowRow} row */
function sentence(row) {
  if (row.sloMs === 0) return `${row.stages.length} stages, no objective.`;
  const debt = row.debtMs > 0 ? `${duration(row.debtMs)} behind its budgets` : "no debt";
  const left = row.sloMs - row.tookMs;
  const rest = left >= 0 ? `${duration(left)} left` : `${duration(-left)} late`;
  return `Objective ${duration(row.sloMs)}, ${rest}; ${debt}.`;
}

/**
 * @param {import("../../workflow-row.ts").WorkflowStageRow} stage
 * @param {import("../../workflow-row.ts").WorkflowRow} row
 * @param {number} scaleMs
 */
function stageRow(stage, row, scaleMs) {
  const over = stage.tookMs - stage.budgetMs;
  const hasBudget = row.sloMs > 0;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, stage.stage),
    h("td", { class: "track stages" }, ...parts(stage, row, scaleMs)),
    h("td", {}, ms(stage.tookMs)),
    h("td", {}, hasBudget ? ms(stage.budgetMs) : "none"),
    h(
      "td",
      { class: over > 0 && hasBudget ? "overspent" : "" },
      hasBudget ? `${over > 0 ? "+" : "-"}${duration(Math.abs(over))}` : "",
    ),
  );
}

/** @param {number} part @param {number} whole */
function share(part, whole) {
  return `${((Math.max(0, part) / Math.max(whole, 0.001)) * 100).toFixed(2)}%`;
}
