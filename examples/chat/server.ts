/** A small chat page and the server behind it, which streams answers from the service `llm`. */
import { readFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { HttpError, readBody, sendJson, serve } from "../serve.ts";
import type { Call, Routes } from "../serve.ts";
import { callModel, modelAddress } from "./upstream.ts";

const LARGEST_BODY_BYTES = 200_000;
const MOST_MESSAGES = 40;
const ROLES = ["user", "assistant"] as const;
/** Headers of the platform that the page shows: where the time went, and whether a pod started. */
const SHOWN_HEADERS = ["server-timing", "pilotlight-cold-start"];

const PAGE_FILES = {
  "GET /": ["index.html", "text/html"],
  "GET /style.css": ["style.css", "text/css"],
  "GET /chat.js": ["chat.js", "text/javascript"],
  "GET /sse.js": ["sse.js", "text/javascript"],
} as const;

const model = modelAddress(process.env);

serve({
  name: `chat (model at ${model.url.origin}, host ${model.host})`,
  routes: {
    ...pageRoutes(),
    "GET /ready": ({ response }) => sendJson(response, 200, { ready: true }),
    "POST /chat": chat,
  },
});

interface Message {
  readonly role: (typeof ROLES)[number];
  readonly content: string;
}

async function chat({ request, response, signal }: Call): Promise<void> {
  const messages = parseMessages(await readBody(request, LARGEST_BODY_BYTES));
  const body = JSON.stringify({
    model: "pilotlight-simulated-70b",
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  const call = { path: "/v1/chat/completions", body, signal };
  const answer = await callModel(model, call).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new HttpError(502, `The model service cannot be reached: ${String(error)}`);
  });
  for (const name of SHOWN_HEADERS) {
    const value = answer.headers[name];
    if (value !== undefined) response.setHeader(name, value);
  }
  response.writeHead(answer.statusCode ?? 502, {
    "content-type": answer.headers["content-type"] ?? "application/octet-stream",
    "cache-control": "no-store",
  });
  await pipeline(answer, response, { signal });
}

function parseMessages(body: Buffer): readonly Message[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    throw new HttpError(400, "The body is not JSON.");
  }
  const messages = (value as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) {
    throw new HttpError(400, "messages must be a list of { role, content }.");
  }
  return messages.slice(-MOST_MESSAGES);
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== "object" || value === null) return false;
  const { role, content } = value as Partial<Record<"role" | "content", unknown>>;
  return ROLES.some((word) => word === role) && typeof content === "string";
}

/** The page is three small files, read once. */
function pageRoutes(): Routes {
  const routes = Object.entries(PAGE_FILES).map(([route, [file, type]]) => {
    const content = readFileSync(new URL(`./page/${file}`, import.meta.url));
    const headers = {
      "content-type": `${type}; charset=utf-8`,
      "content-security-policy":
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'",
      "cache-control": "no-cache",
    };
    return [
      route,
      ({ response }: Call) => void response.writeHead(200, headers).end(content),
    ] as const;
  });
  return Object.fromEntries(routes);
}
