/**
 * Calls of one workflow to an OpenAI-compatible service, with the headers that tell the platform what
 * belongs together. Nothing else here knows of Pilotlight: without it the headers mean nothing.
 */

import { request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";

export interface WorkflowIdentity {
  readonly id: string;
  readonly workflowClass: string;
  /** End to end, for all calls together. */
  readonly sloMs: number;
}

export interface StageCall {
  readonly stage: string;
  readonly stageIndex: number;
  /** `1 of 2` for parallel calls. */
  readonly part: number;
  readonly of: number;
  readonly prompt: string;
  readonly outputTokens: number;
  readonly isFinal?: boolean;
}

export interface CallResult {
  readonly tookMs: number;
  readonly pod: string;
  /** Expected time of the call on its card, as the platform said. */
  readonly expectedMs: number;
  readonly cachedTokens: number;
}

export class ModelClient {
  readonly #url: string;
  readonly #host: string;
  readonly #signal: AbortSignal | undefined;

  /** `host` names the service where several answer at one address. */
  constructor(url: string, host: string, signal?: AbortSignal) {
    this.#url = url;
    this.#host = host;
    this.#signal = signal;
  }

  async complete(workflow: WorkflowIdentity, call: StageCall): Promise<CallResult> {
    const startedAt = performance.now();
    const body = JSON.stringify({
      model: "pilotlight-simulated-70b",
      prompt: call.prompt,
      min_tokens: call.outputTokens,
      max_tokens: call.outputTokens,
    });
    const { status, headers, text } = await this.#post(headersOf(workflow, call), body);
    if (status !== 200) throw new Error(`${call.stage} was answered ${status}: ${text}`);
    return {
      tookMs: performance.now() - startedAt,
      pod: String(headers["pilotlight-pod"] ?? ""),
      expectedMs: Number(headers["x-sched-est-ms"] ?? 0),
      cachedTokens: cachedOf(text),
    };
  }

  /** Not `fetch`, which does not let its caller name the host. */
  #post(headers: Readonly<Record<string, string>>, body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${this.#url}/v1/completions`,
        {
          method: "POST",
          headers: { ...headers, host: this.#host, "content-length": Buffer.byteLength(body) },
          ...(this.#signal === undefined ? {} : { signal: this.#signal }),
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => (text += part));
          response.once("error", reject);
          response.once("end", () => {
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
          });
        },
      );
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  }
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function headersOf(workflow: WorkflowIdentity, call: StageCall): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-workflow-id": workflow.id,
    "x-workflow-class": workflow.workflowClass,
    "x-workflow-stage": call.stage,
    "x-workflow-stage-index": String(call.stageIndex),
    "x-workflow-call-id": `${workflow.id}/${call.stageIndex}/${call.part}`,
    "x-workflow-fanout": `${call.part}/${call.of}`,
    "x-workflow-slo-ms": String(workflow.sloMs),
    "pilotlight-debug": "true",
    ...(call.isFinal === true ? { "x-workflow-final": "true" } : {}),
  };
}

function cachedOf(text: string): number {
  const body = JSON.parse(text) as {
    readonly usage?: { readonly prompt_tokens_details?: { readonly cached_tokens?: number } };
  };
  return body.usage?.prompt_tokens_details?.cached_tokens ?? 0;
}
