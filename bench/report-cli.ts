/** `npm run report -- FILE [OTHER]`: prints a report as a table, or two side by side. */
import { readFileSync } from "node:fs";
import type { Report, Row } from "../foundation/report.ts";
import { formatTable } from "../foundation/text-table.ts";

const files = process.argv.slice(2);
if (files.length < 1 || files.length > 2) {
  console.error("Usage: npm run report -- FILE [OTHER]\nExample: npm run report -- demo.json");
  process.exitCode = 2;
} else {
  const [first, second] = files.map(readReport);
  if (first !== undefined) print(first, second);
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch (error) {
    console.error(`Cannot read the report ${file}: ${String(error)}`);
    process.exitCode = 1;
    return undefined;
  }
}

function print(report: Report, other: Report | undefined): void {
  console.log(
    `${report.command} at ${report.at}, commit ${report.commit.slice(0, 10)}, ` +
      `${report.seconds} s${report.complete ? "" : ", INCOMPLETE"}`,
  );
  const others = new Map(other?.rows.map((row) => [row.id, row]));
  const header = ["id", "value", "unit", "ratio", "must", "goal", "verdict"];
  if (other !== undefined) header.push("other", "change");
  const lines = report.rows.map((row) => {
    const cells = [
      row.id,
      figure(row.value),
      row.unit,
      figure(row.ratio),
      row.must ?? "",
      row.goal ?? "",
      row.verdict,
    ];
    return other === undefined ? cells : [...cells, ...comparison(row, others.get(row.id))];
  });
  console.log(formatTable(header, lines));
  for (const note of report.notes) console.log(`note: ${note}`);
}

function comparison(row: Row, other: Row | undefined): string[] {
  const mine = row.ratio ?? row.value;
  const theirs = other?.ratio ?? other?.value;
  if (theirs === undefined || theirs === null) return ["-", ""];
  const change = mine === null || theirs === 0 ? "" : `${((mine / theirs - 1) * 100).toFixed(1)} %`;
  return [figure(theirs), change];
}

function figure(value: number | null | undefined): string {
  if (value === undefined) return "";
  if (value === null) return "not measured";
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}
