/** Says what it received: method, url, headers, length and digest of the body. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sendJson, serve } from "../serve.ts";
import type { Call } from "../serve.ts";

const LONGEST_SLEEP_MS = 600_000;

serve({ name: "echo", routes: { "*": echo, "GET /sleep": sleepFirst, "POST /sleep": sleepFirst } });

/** The body is digested as it comes and never held, so its size does not matter. */
async function echo({ request, response }: Call): Promise<void> {
  const digest = createHash("sha256");
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    digest.update(part);
  }
  sendJson(response, 200, {
    method: request.method,
    url: request.url,
    headers: request.headers,
    bytes,
    sha256: digest.digest("hex"),
  });
}

async function sleepFirst(call: Call): Promise<void> {
  const wishMs = Number(call.url.searchParams.get("ms") ?? 0);
  await sleep(Math.min(Math.max(wishMs || 0, 0), LONGEST_SLEEP_MS), undefined, {
    signal: call.signal,
  });
  await echo(call);
}
