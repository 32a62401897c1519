/**
 * The stages that a workflow is expected to pass, and what is left of them as stages start. The
 * template of a class is a guess; a hint of the caller replaces it.
 */

export interface TemplateEntry {
  readonly stage: string;
  /** May be skipped: dropped when a later entry starts. */
  readonly optional: boolean;
  /** Share of workflows that pass it; weighs its expected time. */
  readonly probability: number;
}

/**
 * `general`: a start removes the first entry of that name and the optional ones before it.
 * `repo`: the published rule, one entry per start; a tester cancels the revisions left.
 */
export type TemplateRule = "general" | "repo";

export type Template = readonly TemplateEntry[];

/** A template from stage names; those in `optional` may be skipped. */
export function createTemplate(stages: readonly string[], optional: Iterable<string>): Template {
  const skippable = new Set(optional);
  return stages.map((stage) => ({ stage, optional: skippable.has(stage), probability: 1 }));
}

/** What remains of a template once `stage` has started. */
export function advanceTemplate(rule: TemplateRule, template: Template, stage: string): Template {
  const index = template.findIndex((entry) => entry.stage === stage);
  if (rule === "general") return index < 0 ? template : dropSkipped(template, index);
  const rest = index < 0 ? template : template.filter((_, position) => position !== index);
  return stage === "tester" ? rest.filter((entry) => entry.stage !== "revise") : rest;
}

function dropSkipped(template: Template, startedIndex: number): Template {
  return template.filter(
    (entry, index) => index > startedIndex || (index < startedIndex && !entry.optional),
  );
}

/** Expected time of what remains; parallel calls of a stage count once. */
export function expectedTime(template: Template, timeOf: (stage: string) => number): number {
  let sum = 0;
  for (const entry of template) sum += entry.probability * timeOf(entry.stage);
  return sum;
}

const HINT_ENTRY_FORM =
  /^([A-Za-z0-9_.-]{1,64})((?:\*\d{1,3}|~\d{1,4}|\?(?:0(?:\.\d+)?|1(?:\.0+)?|\.\d+))*)$/;
const HINT_SUFFIX_FORM = /([*~?])([\d.]+)/g;
/** Entries that one hint may expand to. */
const MAX_HINT_ENTRIES = 64;

/**
 * Parses a hint of the stages after this one: `revise*3?0.27,tester,evaluate~5`, with `*n` repeated,
 * `~n` parallel, `?p` probability. `undefined` when it is malformed or too long.
 */
export function parseTemplateHint(hint: string): Template | undefined {
  if (hint.trim() === "") return [];
  const template: TemplateEntry[] = [];
  for (const part of hint.split(",")) {
    const entry = parseHintEntry(part.trim());
    if (entry === undefined) return undefined;
    if (template.length + entry.repeat > MAX_HINT_ENTRIES) return undefined;
    for (let copy = 0; copy < entry.repeat; copy += 1) template.push(entry.entry);
  }
  return template;
}

function parseHintEntry(text: string): { entry: TemplateEntry; repeat: number } | undefined {
  const match = HINT_ENTRY_FORM.exec(text);
  const stage = match?.[1];
  if (match === null || stage === undefined) return undefined;
  let repeat = 1;
  let probability = 1;
  for (const [, mark, value] of (match[2] ?? "").matchAll(HINT_SUFFIX_FORM)) {
    if (mark === "*") repeat = Number(value);
    else if (mark === "?") probability = Number(value);
  }
  return { entry: { stage, optional: probability < 1, probability }, repeat };
}
