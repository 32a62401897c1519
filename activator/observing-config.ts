/**
 * What the operator wants to see of requests: from variables, or in a cluster from the keys of the
 * stock ConfigMap `config-observability`, mounted as a folder and read again while we run.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { oneOf, text } from "../foundation/config.ts";
import type { Parser, ParserTable } from "../foundation/config.ts";
import type { LogSettings, Observing } from "./observing.ts";

export interface ObservingConfig {
  /** Collector that takes OTLP over HTTP; empty: no traces. */
  readonly tracingEndpoint: string;
  /** Share of the requests whose caller did not decide, 0 to 1. */
  readonly tracingSamplingRate: number;
  readonly requestLog: "on" | "off";
  readonly requestLogTemplate: string;
  /** Folder of the mounted ConfigMap; empty: the variables hold. */
  readonly observabilityFolder: string;
}

/** The stock template, of one line. */
const DEFAULT_TEMPLATE =
  '{"httpRequest": {"requestMethod": "{{.Request.Method}}", "requestUrl": "{{js .Request.RequestURI}}", ' +
  '"requestSize": "{{.Request.ContentLength}}", "status": {{.Response.Code}}, ' +
  '"responseSize": "{{.Response.Size}}", "userAgent": "{{js .Request.UserAgent}}", ' +
  '"remoteIp": "{{js .Request.RemoteAddr}}", "referer": "{{js .Request.Referer}}", ' +
  '"latency": "{{.Response.Latency}}s", "protocol": "{{.Request.Proto}}"}, ' +
  '"revision": "{{.Revision.Namespace}}/{{.Revision.Name}}", "traceId": "{{.TraceID}}"}';

const READ_EVERY_MS = 10_000;

export function observingVariables(): ParserTable<ObservingConfig> {
  return {
    tracingEndpoint: ["PILOTLIGHT_TRACING_ENDPOINT", text("")],
    tracingSamplingRate: ["PILOTLIGHT_TRACING_SAMPLING_RATE", share],
    requestLog: ["PILOTLIGHT_REQUEST_LOG", oneOf(["on", "off"], "off")],
    requestLogTemplate: ["PILOTLIGHT_REQUEST_LOG_TEMPLATE", text(DEFAULT_TEMPLATE)],
    observabilityFolder: ["PILOTLIGHT_OBSERVABILITY_FOLDER", text("")],
  };
}

const share: Parser<number> = (value) => {
  const rate = Number(value ?? "1");
  if (rate >= 0 && rate <= 1) return rate;
  throw new Error(`got "${value}", expected 0 to 1`);
};

export interface ObservabilityFile {
  tracing(): Pick<ObservingConfig, "tracingEndpoint" | "tracingSamplingRate">;
  /** Puts the log's settings in force, now and at each change. */
  watch(observing: Observing): void;
  stop(): void;
}

export function readObservability(config: ObservingConfig): ObservabilityFile {
  const { observabilityFolder: folder } = config;
  const key = (name: string): string => {
    try {
      return readFileSync(join(folder, name), "utf8").trim();
    } catch {
      // A key that is not set has no file.
      return "";
    }
  };
  const log = (): LogSettings => {
    if (folder === "")
      return { template: config.requestLog === "on" ? config.requestLogTemplate : "" };
    const isOn = key("logging.enable-request-log") === "true";
    return { template: isOn ? key("logging.request-log-template") || DEFAULT_TEMPLATE : "" };
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    tracing: () => {
      if (folder === "" || key("tracing-protocol") !== "http/protobuf") return config;
      return {
        tracingEndpoint: key("tracing-endpoint"),
        tracingSamplingRate: Number(key("tracing-sampling-rate") || "0"),
      };
    },
    watch: (observing) => {
      observing.setLog(log());
      if (folder === "") return;
      timer = setInterval(() => observing.setLog(log()), READ_EVERY_MS);
      timer.unref();
    },
    stop: () => clearInterval(timer),
  };
}
