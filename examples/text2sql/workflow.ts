/**
 * From a question to an answer: link the schema, write drafts side by side, try each against the real
 * database and revise until one runs, then test and evaluate. How many revisions it takes is only
 * known when the database has spoken.
 *
 *   retrieve, keywords ─► candidate x2 ─► [SQL fails ─► revise]* ─► tester ─► evaluate
 */
import type { Attempt, Shop } from "./database.ts";
import type { CallResult, ModelClient, WorkflowIdentity } from "./model-client.ts";
import type { Question } from "./questions.ts";

/** Typical lengths of answers, in tokens. */
const TOKENS = { retrieve: 5, keywords: 45, candidate: 160, revise: 79, tester: 4, evaluate: 22 };
type Stage = keyof typeof TOKENS;

/** What a model is shown beside the question: examples and rules, the same for all. */
const MANUAL =
  "Answer with one SQL statement and nothing else. Prefer joins over subqueries. ".repeat(60);

export interface WorkflowResult {
  readonly identity: WorkflowIdentity;
  readonly question: string;
  readonly sql: string;
  readonly rows: number;
  readonly revisions: number;
  readonly tookMs: number;
  readonly calls: readonly (CallResult & { readonly stage: string })[];
}

export class Text2SqlWorkflow {
  readonly #client: ModelClient;
  readonly #shop: Shop;
  readonly #identity: WorkflowIdentity;
  readonly #calls: (CallResult & { readonly stage: string })[] = [];
  #index = 0;

  constructor(client: ModelClient, shop: Shop, identity: WorkflowIdentity) {
    this.#client = client;
    this.#shop = shop;
    this.#identity = identity;
  }

  async answer(question: Question): Promise<WorkflowResult> {
    const startedAt = performance.now();
    await this.#stage("retrieve", [question.text]);
    await this.#stage("keywords", [question.text]);
    await this.#stage(
      "candidate",
      question.candidates.map(() => `${this.#shop.schema}\n${question.text}`),
    );
    const { sql, attempt, revisions } = await this.#correct(question);
    await this.#stage("tester", [sql]);
    await this.#stage("evaluate", [sql, JSON.stringify(attempt).slice(0, 500)], "final");
    return {
      identity: this.#identity,
      question: question.text,
      sql,
      rows: attempt.kind === "rows" ? attempt.rows.length : 0,
      revisions,
      tookMs: performance.now() - startedAt,
      calls: this.#calls,
    };
  }

  /** The database decides how long this goes on. */
  async #correct(
    question: Question,
  ): Promise<{ readonly sql: string; readonly attempt: Attempt; readonly revisions: number }> {
    const tried = question.candidates.map((sql) => ({ sql, attempt: this.#shop.attempt(sql) }));
    let best = tried.find(({ attempt }) => attempt.kind === "rows") ?? tried[0];
    if (best === undefined) throw new Error("A question needs a draft.");
    let revisions = 0;
    for (const next of question.revisions) {
      if (best.attempt.kind === "rows") break;
      revisions += 1;
      await this.#stage("revise", [`${this.#shop.schema}\n${best.sql}\n${best.attempt.message}`]);
      best = { sql: next, attempt: this.#shop.attempt(next) };
    }
    return { ...best, revisions };
  }

  async #stage(stage: Stage, prompts: readonly string[], how?: "final"): Promise<void> {
    const stageIndex = this.#index;
    this.#index += 1;
    const results = await Promise.all(
      prompts.map((prompt, index) =>
        this.#client.complete(this.#identity, {
          stage,
          stageIndex,
          part: index + 1,
          of: prompts.length,
          prompt: `${stage}\n${MANUAL}\n${prompt}`,
          outputTokens: TOKENS[stage],
          isFinal: how === "final",
        }),
      ),
    );
    for (const result of results) this.#calls.push({ ...result, stage });
  }
}
