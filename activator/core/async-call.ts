/**
 * What a caller wants of asynchronous runs, read from its request: run it later, send the answer
 * to a webhook, or both. Pure; whether the service offers it is decided by its configuration.
 */
import { isGrpc } from "../../common/contracts/grpc.ts";
import { RUNS_PATH, WEBHOOK_FORMATS } from "../../common/contracts/async-runs.ts";
import type { WebhookFormat } from "../../common/contracts/async-runs.ts";
import type { CallerHeaders } from "./caller-headers.ts";

export type AsyncWish =
  | { readonly kind: "none" }
  | {
      readonly kind: "invalid";
      readonly reason: "invalid_async" | "invalid_webhook";
      readonly message: string;
    }
  | {
      readonly kind: "call";
      readonly isAsync: boolean;
      /** Preferred by header: the answer says that it was heard. */
      readonly isPreferred: boolean;
      /** Empty without a webhook. */
      readonly webhook: string;
      readonly format: WebhookFormat;
      /** The request target without our parameters. */
      readonly target: string;
    };

const ASYNC = "async";
const WEBHOOK = "webhookEndpoint";
const OUR_QUERY = /[?&](?:async|webhookEndpoint)(?:[=&]|$)/;
const RESPOND_ASYNC = /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i;

export type AsyncHeaders = Pick<
  CallerHeaders,
  "prefer" | "webhookSecret" | "webhookFormat" | "contentType"
>;

/** A glance for the way of every request: only what it lets through is looked at closely. */
export function mayConcernRuns(target: string, caller: AsyncHeaders): boolean {
  if (caller.prefer !== "" && RESPOND_ASYNC.test(caller.prefer)) return true;
  if (caller.webhookSecret !== "" || caller.webhookFormat !== "") return true;
  return target.includes("?") ? OUR_QUERY.test(target) : target.startsWith(RUNS_PATH);
}

export function readAsyncWish(
  head: { readonly target: string; readonly upgrade: string },
  caller: AsyncHeaders,
): AsyncWish {
  const { values, target } = takeParameters(head.target);
  const async = values.get(ASYNC);
  const isPreferred = async === undefined && RESPOND_ASYNC.test(caller.prefer);
  const isAsync = async === "true" || isPreferred;
  const problem =
    (isAsync ? asyncProblem(head.upgrade, caller) : wordProblem(async)) ??
    webhookProblem(values.get(WEBHOOK), head.upgrade);
  if (problem !== null) return problem;
  const webhook = values.get(WEBHOOK) ?? "";
  const format = formatOf(caller.webhookFormat);
  if (format !== undefined) return { kind: "call", isAsync, isPreferred, webhook, format, target };
  return invalid("invalid_webhook", `the webhook's format is ${WEBHOOK_FORMATS.join(" or ")}`);
}

function wordProblem(async: string | undefined): AsyncWish | null {
  if (async === undefined || async === "false") return null;
  return invalid("invalid_async", `async is true or false, not "${async}"`);
}

function asyncProblem(upgrade: string, caller: AsyncHeaders): AsyncWish | null {
  if (upgrade !== "") {
    return invalid("invalid_async", "an upgraded connection cannot run asynchronously");
  }
  if (!isGrpc(caller.contentType)) return null;
  return invalid("invalid_async", "a gRPC call cannot run asynchronously");
}

function webhookProblem(webhook: string | undefined, upgrade: string): AsyncWish | null {
  if (webhook === "") return invalid("invalid_webhook", "webhookEndpoint is empty");
  if (webhook === undefined || upgrade === "") return null;
  return invalid("invalid_webhook", "an upgraded connection has no answer for a webhook");
}

/** Both parameters out of the query; all others stay as they were, byte by byte. */
function takeParameters(target: string): {
  readonly values: ReadonlyMap<string, string>;
  readonly target: string;
} {
  const values = new Map<string, string>();
  const start = target.indexOf("?");
  if (start < 0) return { values, target };
  const kept = target
    .slice(start + 1)
    .split("&")
    .filter((part) => {
      const equals = part.indexOf("=");
      const name = equals < 0 ? part : part.slice(0, equals);
      if (name !== ASYNC && name !== WEBHOOK) return true;
      // Said twice, the last word counts.
      values.set(name, equals < 0 ? "" : decoded(part.slice(equals + 1)));
      return false;
    });
  const path = target.slice(0, start);
  return { values, target: kept.length === 0 ? path : `${path}?${kept.join("&")}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", "%20"));
  } catch {
    return text;
  }
}

function formatOf(text: string): WebhookFormat | undefined {
  if (text === "") return "plain";
  return WEBHOOK_FORMATS.find((format) => format === text.toLowerCase());
}

function invalid(reason: "invalid_async" | "invalid_webhook", message: string): AsyncWish {
  return { kind: "invalid", reason, message };
}
