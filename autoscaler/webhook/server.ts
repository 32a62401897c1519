/**
 * The HTTPS server that the API server calls. It does not listen by itself; certificates are
 * changed while it runs. Whatever it cannot read it lets pass: it stands in nobody's way.
 */
import { createServer } from "node:https";
import type { Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorText } from "../../common/errors.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { ClusterRules } from "./judge.ts";
import { defaultingReview, parseReview, validationReview } from "./review.ts";
import type { AdmissionRequest, AdmissionReview } from "./review.ts";

export interface WebhookServerOptions {
  readonly rules: () => ClusterRules;
  readonly logger: Logger;
}

export interface WebhookCounts {
  readonly allowed: number;
  readonly refused: number;
  readonly defaulted: number;
  readonly unreadable: number;
}

export interface WebhookServer {
  readonly server: Server;
  counts(): WebhookCounts;
}

/** The largest object that etcd takes, twice (old and new), and the envelope. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;

const REVIEWS: Readonly<
  Record<string, (request: AdmissionRequest, rules: ClusterRules) => AdmissionReview>
> = { "/defaulting": defaultingReview, "/validation": validationReview };

export function createWebhookServer(options: WebhookServerOptions): WebhookServer {
  const counts = { allowed: 0, refused: 0, defaulted: 0, unreadable: 0 };
  const answer = (request: AdmissionRequest, path: string): AdmissionReview | null => {
    const review = Object.hasOwn(REVIEWS, path) ? REVIEWS[path]?.(request, options.rules()) : null;
    if (review === null || review === undefined) return null;
    if (review.response.patch !== undefined) counts.defaulted += 1;
    if (review.response.allowed) counts.allowed += 1;
    else counts.refused += 1;
    return review;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = parseReview(await bodyOf(request));
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const review = asked === null ? null : answer(asked, path);
    if (review === null) {
      counts.unreadable += 1;
      return void response.writeHead(400).end();
    }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(review));
  };
  const server = createServer(
    { minVersion: "TLSv1.2", requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      serve(request, response).catch((error: unknown) => {
        counts.unreadable += 1;
        options.logger.warn("admission call not answered", { error: errorText(error) });
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    },
  );
  return { server, counts: () => ({ ...counts }) };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    // A request without encoding yields buffers.
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > MAX_BODY_BYTES) throw new Error(`the body is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
