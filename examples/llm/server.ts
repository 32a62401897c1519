/**
 * An OpenAI-compatible server with a simulated model on a simulated card: prefill and decode take
 * the time that the card would take, the weights take a set time to load, and the words are
 * prepared. It says so in its model name, on its first page and in README.md.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { HttpError, markReady, readBody, sendJson, serve } from "../serve.ts";
import type { Call } from "../serve.ts";
import { CHAT, COMPLETION, STREAM_END, chunk, usageChunk, wholeAnswer } from "./answers.ts";
import type { AnswerHead, AnswerShape } from "./answers.ts";
import { cardFromEnvironment, readNumber } from "./cards.ts";
import { Engine } from "./engine.ts";
import type { Generation } from "./engine.ts";
import { parseChat, parseCompletion } from "./requests.ts";
import type { GenerationRequest } from "./requests.ts";
import { StateReport } from "./state-report.ts";

const MODEL = "pilotlight-simulated-70b";
const LARGEST_BODY_BYTES = 4_000_000;
const DEFAULT_LOAD_MS = 3_000;

const card = cardFromEnvironment(process.env);
const loadMs = readNumber(process.env, "LLM_LOAD_MS", { min: 0, fallback: DEFAULT_LOAD_MS });
const engine = new Engine(card, () => tellState());
const report = new StateReport(process.env);
const createdAt = Math.floor(Date.now() / 1_000);
let loaded = false;

serve({
  name: `llm (simulated ${card.name})`,
  routes: {
    "GET /": about,
    "GET /ready": ({ response }) => sendJson(response, loaded ? 200 : 503, { loaded }),
    "GET /v1/models": ({ response }) =>
      sendJson(response, 200, { object: "list", data: [modelEntry()] }),
    [`GET /v1/models/${MODEL}`]: ({ response }) => sendJson(response, 200, modelEntry()),
    "POST /v1/chat/completions": (call) => generate(call, CHAT, parseChat),
    "POST /v1/completions": (call) => generate(call, COMPLETION, parseCompletion),
  },
  onStop: () => report.stop(),
});
void loadWeights();

/** Stands for reading many gigabytes into a card. */
async function loadWeights(): Promise<void> {
  tellState();
  await sleep(loadMs);
  loaded = true;
  markReady();
  tellState();
}

function tellState(): void {
  report.tell({ state: loaded ? "ready" : "loading", ...engine.state });
}

async function generate(
  call: Call,
  shape: AnswerShape,
  parse: (body: Buffer, model: string) => GenerationRequest,
): Promise<void> {
  const wanted = parse(await readBody(call.request, LARGEST_BODY_BYTES), MODEL);
  if (!loaded) throw stillLoading();
  const head = headOf(shape, wanted.model);
  if (wanted.stream) await sendStream(call, { shape, head, wanted });
  else await sendWhole(call, { shape, head, wanted });
}

interface Answer {
  readonly shape: AnswerShape;
  readonly head: AnswerHead;
  readonly wanted: GenerationRequest;
}

async function sendWhole({ response, signal }: Call, answer: Answer): Promise<void> {
  const { shape, head, wanted } = answer;
  const ended = await engine.generate({ ...sizeOf(wanted), signal });
  if (ended.kind === "left") return;
  const { cachedTokens } = ended;
  sendJson(response, 200, wholeAnswer(shape, head, { wanted, cachedTokens }));
}

async function sendStream({ response, signal }: Call, answer: Answer): Promise<void> {
  const { shape, head, wanted } = answer;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  if (shape.opening !== null) response.write(chunk(shape, head, shape.opening));
  let sent = 0;
  const onTokens = (count: number): void => {
    for (const token of wanted.tokens.slice(sent, sent + count)) {
      response.write(chunk(shape, head, shape.piece(token)));
    }
    sent += count;
  };
  const ended = await engine.generate({ ...sizeOf(wanted), signal, onTokens });
  if (ended.kind === "left") return;
  const { cachedTokens } = ended;
  response.write(chunk(shape, head, shape.closing, wanted.finishReason));
  if (wanted.includeUsage) response.write(usageChunk(shape, head, { wanted, cachedTokens }));
  response.end(STREAM_END);
}

function sizeOf({
  prompt,
  promptTokens,
  tokens,
}: GenerationRequest): Pick<Generation, "prompt" | "promptTokens" | "outputTokens"> {
  return { prompt, promptTokens, outputTokens: tokens.length };
}

function headOf(shape: AnswerShape, model: string): AnswerHead {
  const id = `${shape.idPrefix}-${randomUUID()}`;
  return { id, created: Math.floor(Date.now() / 1_000), model };
}

function stillLoading(): HttpError {
  const message = "The model is loading; try again when /ready answers 200.";
  const error = { message, type: "server_error", param: null, code: "model_loading" };
  return new HttpError(503, message, { error });
}

function modelEntry(): Readonly<Record<string, unknown>> {
  return { id: MODEL, object: "model", created: createdAt, owned_by: "pilotlight-examples" };
}

function about({ response }: Call): void {
  sendJson(response, 200, {
    model: MODEL,
    simulated: true,
    note: "No model and no card is behind this server: speeds are imitated, words are prepared.",
    card,
    loadMs,
    loaded,
    ...engine.state,
  });
}
