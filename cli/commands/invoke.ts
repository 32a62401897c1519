/** `pilotlight invoke SERVICE [PATH]`: one request to a service, with the times of its way. */
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { buffer } from "node:stream/consumers";
import {
  COLD_START_HEADER,
  REASON_HEADER,
  REQUEST_ID_HEADER,
  SERVER_TIMING_HEADER,
} from "../../common/contracts/headers.ts";
import { errorText, PlatformError } from "../../common/errors.ts";
import { PLACE_OPTIONS, wantsCluster } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { withPlatform } from "../platform-view.ts";
import { findPlatform, findService } from "../run-client.ts";
import { formatColumns } from "../table.ts";

const FIRST_ERROR_STATUS = 400;
const ACCEPTED = 202;
const ASYNC_CURE = "Runs need pilotlight.dev/async: enabled on the service.";

export const invoke: Command = {
  name: "invoke",
  summary: "send one request to a service and print the answer",
  usage: "SERVICE [PATH] [-d BODY] [-H NAME:VALUE] [--timings] [--async] [--webhook URL]",
  mostArguments: 2,
  options: {
    data: {
      type: "string",
      short: "d",
      value: "BODY",
      help: "body to send; @FILE reads a file, @- standard input; makes it a POST",
    },
    header: {
      type: "string",
      short: "H",
      multiple: true,
      value: "NAME:VALUE",
      help: "header to send; may be repeated",
    },
    request: { type: "string", short: "X", value: "METHOD", help: "method (default GET or POST)" },
    async: { type: "boolean", help: "run it later and print the run's id at once" },
    webhook: { type: "string", value: "URL", help: "send the answer to this URL as well" },
    timings: { type: "boolean", help: "show where the time went, on standard error" },
    ingress: {
      type: "string",
      value: "URL",
      help: "where to send it, with the service's name as Host (default: local port, or its URL)",
    },
    ...PLACE_OPTIONS,
  },
  details:
    "Sends the request through the platform's public port, as any caller would, and streams the\n" +
    "answer to standard output. --async and --webhook are for services with pilotlight.dev/async:\n" +
    "enabled; `pilotlight runs` shows what became of the run. In a cluster it goes to the service's\n" +
    "own URL, or to the ingress that --ingress names.",
  examples: [
    "pilotlight invoke echo",
    "pilotlight invoke echo /upper -d hello --timings",
    "pilotlight invoke ocr /read -d @page.png --async",
    "pilotlight invoke llm /v1/chat/completions -H content-type:application/json -d @chat.json",
    "pilotlight invoke echo --context staging --ingress http://203.0.113.7",
  ],
  run: async (context) => {
    const [name, path = "/"] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service.");
    const call = await prepare(context, path, await placeOf(context, name));
    const startedAt = performance.now();
    const response = await send(call);
    const firstByteMs = performance.now() - startedAt;
    if (context.options.flag("async") && response.statusCode === ACCEPTED) {
      return printRun(context, response);
    }
    if (context.options.flag("async")) {
      context.out.note(`No run was begun: ${name} answered by itself. ${ASYNC_CURE}`);
    }
    const body = await receive(context, response);
    const timings = {
      ...serverTimings(response),
      firstByte: firstByteMs,
      total: performance.now() - startedAt,
    };
    return report(context, response, { body, timings });
  },
};

interface CallPlace {
  readonly serviceUrl: string;
  readonly ingressUrl: string;
}

async function placeOf(context: CommandContext, name: string): Promise<CallPlace> {
  const services = await withPlatform(context, (view) => view.services());
  const { url: serviceUrl, key } = findService({ services }, name);
  if (serviceUrl === "") {
    const cure = `\`pilotlight describe ${name} --cluster\` says what it waits for.`;
    throw new PlatformError("ERR_UPSTREAM", `${key} has no URL yet. ${cure}`);
  }
  const given = context.options.text("ingress");
  if (given !== undefined) return { serviceUrl, ingressUrl: checkedUrl(given) };
  if (wantsCluster(context)) return { serviceUrl, ingressUrl: serviceUrl };
  return { serviceUrl, ingressUrl: (await findPlatform(context)).run.ingressUrl };
}

function checkedUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new PlatformError("ERR_USAGE", `--ingress ${text}: expected http://HOST or https://HOST.`);
}

interface Call {
  readonly ingress: URL;
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | null;
}

async function prepare(
  { options }: CommandContext,
  path: string,
  { serviceUrl, ingressUrl }: CallPlace,
): Promise<Call> {
  const body = await readBody(options.text("data"));
  return {
    ingress: new URL(ingressUrl),
    host: new URL(serviceUrl).host,
    method: options.text("request") ?? (body === null ? "GET" : "POST"),
    path: withParameters(path.startsWith("/") ? path : `/${path}`, options),
    headers: options.texts("header").map(parseHeader),
    body,
  };
}

function withParameters(path: string, options: CommandContext["options"]): string {
  const webhook = options.text("webhook");
  const parameters = [
    ...(options.flag("async") ? ["async=true"] : []),
    ...(webhook === undefined ? [] : [`webhookEndpoint=${encodeURIComponent(webhook)}`]),
  ];
  if (parameters.length === 0) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${parameters.join("&")}`;
}

/** Only the id, so that a script can keep it. A service without the setting answers itself. */
async function printRun(
  { out, options }: CommandContext,
  response: IncomingMessage,
): Promise<ExitCode> {
  const body = (await buffer(response)).toString("utf8");
  const id = response.headers[REQUEST_ID_HEADER];
  out.print(options.flag("json") ? body.trimEnd() : String(id));
  return EXIT.ok;
}

async function readBody(data: string | undefined): Promise<Buffer | null> {
  if (data === undefined) return null;
  if (data === "@-") return buffer(process.stdin);
  return data.startsWith("@") ? readFile(data.slice(1)) : Buffer.from(data);
}

function parseHeader(text: string): readonly [string, string] {
  const colon = text.indexOf(":");
  if (colon < 1) {
    throw new PlatformError("ERR_USAGE", `-H ${text}: expected NAME:VALUE.`);
  }
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}

function send(call: Call): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { hostname, protocol } = call.ingress;
    const begin = protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = begin(
      {
        host: hostname.replaceAll(/^\[|\]$/g, ""),
        servername: call.host.replace(/:\d+$/, ""),
        port: call.ingress.port,
        method: call.method,
        path: call.path,
        headers: { host: call.host, ...Object.fromEntries(call.headers) },
        agent: false,
      },
      resolve,
    );
    outgoing.on("error", (cause) => reject(unreachable(call, cause)));
    outgoing.end(call.body ?? undefined);
  });
}

function unreachable({ ingress, host }: Call, cause: Error): PlatformError {
  const cure = "Name an ingress that this machine reaches: --ingress URL.";
  const what = `${ingress.origin} cannot be reached for ${host}: ${errorText(cause)}.`;
  return new PlatformError("ERR_UPSTREAM", `${what} ${cure}`, { cause });
}

/** Streams the body out, or keeps it for `--json`. */
async function receive(context: CommandContext, response: IncomingMessage): Promise<string> {
  if (context.options.flag("json")) return (await buffer(response)).toString("utf8");
  let last: number | undefined;
  for await (const chunk of response) {
    const bytes = chunk as Buffer;
    context.out.write(bytes);
    last = bytes.at(-1);
  }
  // The prompt of a terminal belongs on a line of its own.
  if (last !== undefined && last !== 10 && process.stdout.isTTY) context.out.print("");
  return "";
}

/** `route;dur=0.1, queue;dur=2` as numbers in ms. */
export function serverTimings(response: Pick<IncomingMessage, "headers">): Record<string, number> {
  const header = String(response.headers[SERVER_TIMING_HEADER] ?? "");
  const entries = header.split(",").flatMap((part): [string, number][] => {
    const match = /^\s*([\w-]+);dur=([\d.]+)/.exec(part);
    return match?.[1] === undefined ? [] : [[match[1], Number(match[2])]];
  });
  return Object.fromEntries(entries);
}

function report(
  { out, options }: CommandContext,
  response: IncomingMessage,
  seen: { readonly body: string; readonly timings: Readonly<Record<string, number>> },
): ExitCode {
  const status = response.statusCode ?? 0;
  const { headers } = response;
  const failed = status >= FIRST_ERROR_STATUS;
  if (options.flag("json")) {
    out.print(JSON.stringify({ status, headers, ...seen }, null, 2));
    return failed ? EXIT.errorStatus : EXIT.ok;
  }
  if (failed) {
    const reason = headers[REASON_HEADER];
    out.note(`HTTP ${status}${reason === undefined ? "" : ` (${String(reason)})`}`);
  }
  if (options.flag("timings")) {
    const rows = Object.entries(seen.timings).map(([name, ms]) => [
      `  ${name}`,
      `${ms.toFixed(1).padStart(9)} ms`,
    ]);
    const start = headers[COLD_START_HEADER] === "true" ? "cold start" : "warm";
    out.note(`HTTP ${status}, ${start}\n${formatColumns(rows)}`);
  }
  return failed ? EXIT.errorStatus : EXIT.ok;
}
