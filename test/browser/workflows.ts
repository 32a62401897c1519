/** Questions that take several calls, one after another without end: what the workflow panel lives on. */
import { createRandom } from "../../common/random.ts";
import type { Platform } from "../../local/main.ts";
import { ModelClient } from "../../examples/text2sql/model-client.ts";

export const WORKFLOW_SERVICE = "text2sql-llm";

/** Tokens of the answers of each stage; a question stops to revise after none to three times. */
const STAGES = { retrieve: 5, keywords: 45, candidate: 160, revise: 79, evaluate: 22 } as const;
const MOST_REVISIONS = 3;
/** Some are in time and some are not, on two cards that are shared. */
const SLO_MS = 2_500;
const PROMPT = "Answer with one SQL statement and nothing else. ".repeat(40);

export interface Questions {
  /** Ends when the last stage has been answered, or one was not. */
  ask(): Promise<void>;
}

export function createQuestions({ urls }: Platform, signal: AbortSignal): Questions {
  const client = new ModelClient(urls.ingress, `${WORKFLOW_SERVICE}.default.localhost`, signal);
  const random = createRandom(9);
  let asked = 0;
  return {
    ask: async () => {
      asked += 1;
      const identity = { id: `q-${asked}`, workflowClass: "text2sql", sloMs: SLO_MS };
      const revisions = Math.floor(random() * (MOST_REVISIONS + 1));
      const stages = [
        "retrieve",
        "keywords",
        "candidate",
        ...Array.from({ length: revisions }, () => "revise" as const),
        "evaluate",
      ] as const;
      for (const [stageIndex, stage] of stages.entries()) {
        await client.complete(identity, {
          stage,
          stageIndex,
          part: 1,
          of: 1,
          prompt: `${stage}\n${PROMPT}\n${identity.id}`,
          outputTokens: STAGES[stage],
          isFinal: stageIndex === stages.length - 1,
        });
      }
    },
  };
}
