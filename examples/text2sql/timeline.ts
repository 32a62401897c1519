/**
 * Draws workflows as lines in time: `█` within the budget of a stage, `▓` beyond it, `|` where the
 * objective is. In the terminal, and as a page that can be kept.
 */

/** As the dashboard's `/api/snapshot` has it. */
export interface WorkflowLine {
  readonly id: string;
  readonly state: "running" | "met" | "late" | "ended";
  readonly isEnded: boolean;
  readonly sloMs: number;
  readonly tookMs: number;
  readonly debtMs: number;
  readonly stages: readonly StageLine[];
}

export interface StageLine {
  readonly stage: string;
  readonly fromMs: number;
  readonly tookMs: number;
  readonly budgetMs: number;
}

const WIDTH = 64;

/** One block of lines per workflow, on one scale. */
export function drawTimelines(lines: readonly WorkflowLine[]): string {
  const scaleMs = Math.max(1, ...lines.map(({ tookMs, sloMs }) => Math.max(tookMs, sloMs)));
  return lines.map((line) => drawOne(line, scaleMs)).join("\n\n");
}

function drawOne(line: WorkflowLine, scaleMs: number): string {
  const at = (ms: number): number => Math.round((Math.max(0, ms) / scaleMs) * WIDTH);
  const head = `${line.id}  ${seconds(line.tookMs)} of ${seconds(line.sloMs)}, ${line.state}; ${debtWords(line.debtMs)}`;
  const rows = line.stages.map((stage) => {
    const cells = Array.from({ length: WIDTH + 1 }, () => " ");
    const from = at(stage.fromMs);
    const given = at(stage.fromMs + Math.min(stage.budgetMs, stage.tookMs));
    const to = Math.max(from + 1, at(stage.fromMs + stage.tookMs));
    for (let cell = from; cell < Math.min(to, WIDTH); cell += 1) {
      cells[cell] = cell < given || stage.tookMs <= stage.budgetMs ? "█" : "▓";
    }
    cells[at(line.sloMs)] ||= "|";
    if (cells[at(line.sloMs)] === " ") cells[at(line.sloMs)] = "|";
    const figures = `${seconds(stage.tookMs).padStart(7)} /${seconds(stage.budgetMs).padStart(7)}`;
    return `  ${stage.stage.padEnd(10)} ${cells.join("")} ${figures}`;
  });
  return [head, ...rows].join("\n");
}

function debtWords(debtMs: number): string {
  return debtMs > 0 ? `debt ${seconds(debtMs)}` : `credit ${seconds(-debtMs)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}

/** A page of its own, without script. */
export function timelinePage(lines: readonly WorkflowLine[]): string {
  const scaleMs = Math.max(1, ...lines.map(({ tookMs, sloMs }) => Math.max(tookMs, sloMs)));
  const share = (ms: number): string => ((Math.max(0, ms) / scaleMs) * 100).toFixed(2);
  const blocks = lines.map((line) => {
    const bars = line.stages.map((stage, index) => {
      const within = Math.min(stage.tookMs, Math.max(0, stage.budgetMs));
      const y = 4 + index * 16;
      const over = stage.tookMs - within;
      const rect = (from: number, length: number, look: string): string =>
        `<rect class="${look}" x="${share(from)}%" y="${y}" width="${share(length)}%" height="12"/>`;
      const label = `<text x="${share(stage.fromMs)}%" y="${y + 10}">${escape(stage.stage)}</text>`;
      return [
        rect(stage.fromMs, within, "within"),
        over > 0 ? rect(stage.fromMs + within, over, "over") : "",
        label,
      ].join("");
    });
    const height = 8 + line.stages.length * 16;
    const limit = `<line x1="${share(line.sloMs)}%" x2="${share(line.sloMs)}%" y1="0" y2="${height}"/>`;
    const title = `${line.id}: ${seconds(line.tookMs)} of ${seconds(line.sloMs)}, ${debtWords(line.debtMs)}`;
    return `<h2>${escape(title)}</h2><svg width="100%" height="${height}">${bars.join("")}${limit}</svg>`;
  });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Workflows</title>
<style>
  body { font: 14px system-ui; margin: 2rem; max-width: 70rem; color-scheme: light dark; }
  h2 { font-size: 1rem; margin: 1.5rem 0 0.25rem; }
  svg { overflow: visible; }
  .within { fill: #4a6b94; } .over { fill: #bb2d22; } line { stroke: currentColor; }
  text { font-size: 10px; fill: currentColor; }
</style>
<h1>Workflows: time, budget and debt</h1>
<p>Blue is within the budget of a stage, red beyond it; the line is the objective.</p>
${blocks.join("\n")}
</html>
`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
