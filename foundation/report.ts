/**
 * The one form of every `--json` report, and the one place where a verdict is computed. Each proof
 * command (demo, bench:*, test:faults, ...) builds a Report with this, so that `npm run report`
 * can print and compare any of them.
 */
import { spawnSync } from "node:child_process";
import { cpus, totalmem } from "node:os";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export type Verdict = "goal" | "must" | "short";

/** A limit such as `<= 5`, `>= 3` or `0` (exactly), as written in the list of bars. */
export type Limit = string;

export interface RowInput {
  readonly id: string;
  /** `null`: could not be measured; then `why` says so and the row counts as short. */
  readonly value: number | null;
  readonly unit: string;
  /** Number of samples behind the value. */
  readonly n?: number;
  readonly peer?: string;
  readonly peerValue?: number;
  readonly ratio?: number;
  /** Smallest and largest round of a ratio. */
  readonly spread?: readonly [number, number];
  readonly must?: Limit;
  readonly goal?: Limit;
  readonly why?: string;
}

export interface Row extends RowInput {
  readonly verdict: Verdict;
}

export interface Report {
  readonly command: string;
  readonly commit: string;
  readonly at: string;
  readonly complete: boolean;
  readonly seconds: number;
  readonly machine: {
    readonly cores: number;
    readonly memoryGiB: number;
    readonly cpu: string;
    readonly node: string;
    readonly valkey: string;
    readonly redis: boolean;
  };
  readonly rows: readonly Row[];
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  readonly plots: readonly string[];
  readonly notes: readonly string[];
}

/** Whether a figure meets a limit. A ratio decides where there is one, else the value. */
export function meets(figure: number, limit: Limit): boolean {
  const match = /^(<=|>=|<|>|=)?\s*(-?[0-9.]+)$/.exec(limit.trim());
  if (match === null) throw new TypeError(`Limit "${limit}" is not of the form "<= 5"`);
  const bound = Number(match[2]);
  switch (match[1] ?? "=") {
    case "<=":
      return figure <= bound;
    case ">=":
      return figure >= bound;
    case "<":
      return figure < bound;
    case ">":
      return figure > bound;
    default:
      return figure === bound;
  }
}

export function judge(row: RowInput): Row {
  const figure = row.ratio ?? row.value;
  if (figure === null) return { ...row, verdict: "short" };
  if (row.must !== undefined && !meets(figure, row.must)) return { ...row, verdict: "short" };
  if (row.goal === undefined || meets(figure, row.goal)) return { ...row, verdict: "goal" };
  return { ...row, verdict: "must" };
}

/** Collects rows, tables and notes while a command runs; `report()` may be called at any moment. */
export class ReportBuilder {
  readonly #command: string;
  readonly #startedAt = performance.now();
  readonly #rows: Row[] = [];
  readonly #tables: Record<string, Record<string, unknown>[]> = {};
  readonly #plots: string[] = [];
  readonly #notes: string[] = [];
  #valkey = { version: "", redis: false };
  #complete = false;

  constructor(command: string) {
    this.#command = command;
  }

  row(input: RowInput): Row {
    const judged = judge(input);
    this.#rows.push(judged);
    return judged;
  }

  addToTable(name: string, entry: Record<string, unknown>): void {
    (this.#tables[name] ??= []).push(entry);
  }

  plot(path: string): void {
    this.#plots.push(path);
  }

  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  store(version: string, redis: boolean): void {
    this.#valkey = { version, redis };
  }

  /** The command ran to its end. */
  complete(): void {
    this.#complete = true;
  }

  report(): Report {
    return {
      command: this.#command,
      commit: gitCommit(),
      at: new Date().toISOString(),
      complete: this.#complete,
      seconds: Math.round((performance.now() - this.#startedAt) / 100) / 10,
      machine: {
        cores: cpus().length,
        memoryGiB: Math.round(totalmem() / 2 ** 30),
        cpu: cpus()[0]?.model.trim() ?? "unknown",
        node: process.version,
        valkey: this.#valkey.version,
        redis: this.#valkey.redis,
      },
      rows: this.#rows,
      tables: this.#tables,
      plots: this.#plots,
      notes: this.#notes,
    };
  }
}

/** 0 only for a run that ended and missed no must. */
export function exitCodeOf(report: Report): number {
  return report.complete && report.rows.every((row) => row.verdict !== "short") ? 0 : 1;
}

export function writeReport(report: Report, file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

function gitCommit(): string {
  const result = spawnSync("git", ["rev-parse", "HEAD"], {
    cwd: import.meta.dirname,
    encoding: "utf8",
  });
  return result.status === 0 ? result.stdout.trim() : "unknown";
}
