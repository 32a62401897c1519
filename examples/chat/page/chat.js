/** The chat page: sends the conversation, shows the answer as it comes, and says what took time. */
import { readEvents } from "./sse.js";

const log = /** @type {HTMLElement} */ (document.querySelector("#log"));
const form = /** @type {HTMLFormElement} */ (document.querySelector("#ask"));
const field = /** @type {HTMLTextAreaElement} */ (document.querySelector("#text"));
const send = /** @type {HTMLButtonElement} */ (document.querySelector("#send"));
const stop = /** @type {HTMLButtonElement} */ (document.querySelector("#stop"));
const statusLine = /** @type {HTMLElement} */ (document.querySelector("#status"));

/** @type {{ role: "user" | "assistant", content: string }[]} */
const conversation = [];
/** @type {AbortController | undefined} */
let running;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void ask(field.value.trim());
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener("click", () => running?.abort());
for (const button of document.querySelectorAll("button.try")) {
  button.addEventListener("click", () => void ask(button.textContent ?? ""));
}

/** @param {string} question */
async function ask(question) {
  if (question === "" || running !== undefined) return;
  document.querySelector("#empty")?.remove();
  field.value = "";
  show("user", question);
  conversation.push({ role: "user", content: question });
  running = new AbortController();
  setBusy(true);
  const answer = show("assistant", "");
  const ticking = showWaiting();
  try {
    await receive(answer, running.signal, () => clearInterval(ticking));
  } catch (error) {
    fail(answer, error);
  } finally {
    clearInterval(ticking);
    running = undefined;
    setBusy(false);
  }
}

/**
 * @param {HTMLElement} answer
 * @param {AbortSignal} signal
 * @param {() => void} onFirst
 */
async function receive(answer, signal, onFirst) {
  const startedAt = performance.now();
  const response = await fetch("chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: conversation }),
    signal,
  });
  if (!response.ok || response.body === null) throw new Error(await problem(response));
  const message = { role: /** @type {const} */ ("assistant"), content: "" };
  conversation.push(message);
  const text = document.createTextNode("");
  answer.append(text);
  let firstMs = 0;
  let tokens = 0;
  for await (const data of readEvents(response.body)) {
    if (data === "[DONE]") break;
    const piece = JSON.parse(data).choices?.[0]?.delta?.content;
    if (!piece) continue;
    if (tokens === 0) {
      firstMs = performance.now() - startedAt;
      onFirst();
      statusLine.textContent = "The answer comes in.";
    }
    tokens += 1;
    message.content += piece;
    text.data = message.content;
    log.scrollTop = log.scrollHeight;
  }
  addFacts(answer, response, { firstMs, tokens, totalMs: performance.now() - startedAt });
}

/**
 * @param {HTMLElement} answer
 * @param {Response} response
 * @param {{ firstMs: number, tokens: number, totalMs: number }} measured
 */
function addFacts(answer, response, { firstMs, tokens, totalMs }) {
  const facts = document.createElement("span");
  facts.className = "facts";
  const rate = tokens > 1 ? ((tokens - 1) * 1000) / Math.max(1, totalMs - firstMs) : 0;
  const start = response.headers.get("pilotlight-cold-start") === "true" ? "cold start, " : "";
  facts.textContent =
    `${start}first token after ${(firstMs / 1000).toFixed(2)} s, ` +
    `${tokens} tokens at ${rate.toFixed(1)} tokens/s`;
  facts.title = response.headers.get("server-timing") ?? "";
  answer.append(facts);
}

function showWaiting() {
  const startedAt = performance.now();
  const tick = () => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    statusLine.textContent = `Waiting for the first token, ${seconds} s. A model at zero pods starts one now.`;
  };
  tick();
  return setInterval(tick, 200);
}

/**
 * @param {HTMLElement} answer
 * @param {unknown} error
 */
function fail(answer, error) {
  const stopped = error instanceof DOMException && error.name === "AbortError";
  if (stopped) {
    answer.append(answer.textContent === "" ? "Stopped." : " (stopped)");
  } else {
    answer.classList.add("failed");
    answer.append(error instanceof Error ? error.message : String(error));
  }
  // A question without an answer would be sent again with the next one.
  if (conversation.at(-1)?.role === "user") conversation.pop();
}

/** @param {Response} response */
async function problem(response) {
  const text = await response.text();
  const reason = response.headers.get("pilotlight-reason");
  try {
    const { error, message } = JSON.parse(text);
    return String(message ?? error?.message ?? error);
  } catch {
    return `The model answered ${response.status}${reason ? ` (${reason})` : ""}. ${text}`.trim();
  }
}

/**
 * @param {"user" | "assistant"} role
 * @param {string} content
 */
function show(role, content) {
  const message = document.createElement("article");
  message.className = `message ${role}`;
  message.setAttribute("aria-label", role === "user" ? "You" : "Model");
  message.append(content);
  log.append(message);
  log.scrollTop = log.scrollHeight;
  return message;
}

/** @param {boolean} busy */
function setBusy(busy) {
  send.hidden = busy;
  stop.hidden = !busy;
  if (busy) return;
  statusLine.textContent = "";
  field.focus();
}
