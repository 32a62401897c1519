/**
 * The last words of the demo: what each service answered, and each figure beside its goal. The
 * report for machines keeps the ids; here they are said in words.
 */
import type { Report, Row, Verdict } from "../../foundation/report.ts";
import { formatTable } from "../../foundation/text-table.ts";
import type { Paint, Terminal } from "./terminal.ts";

const TROUBLES_SHOWN = 10;

const WORDS: Readonly<Record<string, string>> = {
  "demo.answers.not_2xx": "answers that were not 2xx",
  "demo.ocr.pods.max": "most pods of the OCR model",
  "demo.services.not_at_zero": "services not back at zero",
  "demo.coldstart.platform.p50": "platform's part of a cold start, median",
  "demo.coldstart.platform.p95": "platform's part of a cold start, p95",
  "demo.concurrency1.violations": "pages beyond one at a time in a pod",
  "demo.seconds": "length of the demo",
};

export function printSummary(
  terminal: Terminal,
  report: Report,
  troubles: readonly string[],
): void {
  terminal.heading(report.complete ? "Summary" : "Summary (cut short)");
  terminal.line(indent(servicesTable(report)));
  terminal.line();
  // A demo that was cut short reached no figure, so it is not judged.
  if (report.complete) printFigures(terminal, report);
  for (const trouble of troubles.slice(0, TROUBLES_SHOWN)) {
    terminal.line(terminal.paint.yellow(`! ${trouble}`));
  }
  const hidden = troubles.length - TROUBLES_SHOWN;
  if (hidden > 0) terminal.line(terminal.paint.yellow(`! and ${hidden} more`));
}

function servicesTable(report: Report): string {
  const rows = (report.tables["services"] ?? []).map((entry) => [
    String(entry["service"]),
    String(entry["requests"]),
    Object.entries(entry["answers"] as Record<string, number>)
      .map(([status, count]) => `${count} x ${status}`)
      .join(", "),
    String(entry["pods_max"]),
    String(entry["pods_last"]),
  ]);
  return formatTable(["service", "requests", "answers", "most pods", "pods now"], rows);
}

function printFigures(terminal: Terminal, report: Report): void {
  const table = formatTable(
    ["figure", "value", "unit", "goal"],
    report.rows.map(({ id, value, unit, goal }) => [
      WORDS[id] ?? id,
      value === null ? "unknown" : String(value),
      unit === "count" ? "" : unit,
      goal ?? "",
    ]),
  );
  const [header = "", rule = "", ...lines] = table.split("\n");
  terminal.line(`  ${header}\n  ${rule}`);
  for (const [index, line] of lines.entries()) {
    const row = report.rows[index];
    if (row !== undefined) terminal.line(`${markOf(row, terminal.paint)} ${line}`);
  }
  if (report.rows.some(({ verdict }) => verdict === "must")) {
    terminal.line(terminal.paint.dim("  ~ misses its goal, as it may on a small or busy machine"));
  }
  terminal.line();
}

function markOf({ verdict }: Row, paint: Paint): string {
  const marks: Readonly<Record<Verdict, string>> = {
    goal: paint.green("✓"),
    must: paint.yellow("~"),
    short: paint.red("✗"),
  };
  return marks[verdict];
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}
