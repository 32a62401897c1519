/**
 * The readiness probe as the stock controller writes it into the environment: one Kubernetes probe
 * as JSON, or an array of them where every container of the pod has one. Parsed once, at start.
 */
import { PlatformError } from "../../common/errors.ts";

export type ProbeSpec =
  | {
      readonly kind: "http";
      readonly host: string;
      readonly port: number;
      readonly path: string;
      readonly secure: boolean;
      readonly headers: readonly (readonly [name: string, value: string])[];
    }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | {
      readonly kind: "grpc";
      readonly host: string;
      readonly port: number;
      readonly service: string;
    };

export interface ProbePlan {
  /** All must pass; none always passes. */
  readonly probes: readonly ProbeSpec[];
  readonly periodMs: number;
  readonly timeoutMs: number;
  /** How long a prober may be kept waiting during a start: its own time limit, less a margin. */
  readonly holdMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

const LOOPBACK = "127.0.0.1";
/** Kubernetes' own defaults where the probe names nothing. */
const DEFAULT_PERIOD_SECONDS = 1;
const DEFAULT_TIMEOUT_SECONDS = 1;
const DEFAULT_FAILURES = 3;
/** Without a period stock Knative evaluates for this long before it says no. */
const AGGRESSIVE_HOLD_MS = 10_000;
const HOLD_MARGIN_MS = 100;

export function parseProbePlan(json: string, userPort: number): ProbePlan {
  const parsed = parseJson(json);
  const list = (Array.isArray(parsed) ? parsed : [parsed]).filter((probe) => probe !== null);
  const probes = list.map((probe) => asRecord(probe, json));
  const first = probes[0] ?? {};
  const timeoutMs = positive(first["timeoutSeconds"], DEFAULT_TIMEOUT_SECONDS) * 1_000;
  const isAggressive = positive(first["periodSeconds"], 0) === 0;
  return {
    probes: probes.flatMap((probe) => parseProbe(probe, userPort, json)),
    periodMs: positive(first["periodSeconds"], DEFAULT_PERIOD_SECONDS) * 1_000,
    timeoutMs,
    holdMs: isAggressive ? AGGRESSIVE_HOLD_MS : timeoutMs - HOLD_MARGIN_MS,
    successThreshold: positive(first["successThreshold"], 1),
    failureThreshold: positive(first["failureThreshold"], DEFAULT_FAILURES),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parseJson(json: string): unknown {
  if (json.trim() === "") return null;
  try {
    return JSON.parse(json);
  } catch (error) {
    throw invalid(json, error);
  }
}

function parseProbe(probe: Fields, userPort: number, json: string): ProbeSpec[] {
  if (probe["httpGet"] !== undefined) {
    return [parseHttp(asRecord(probe["httpGet"], json), userPort, json)];
  }
  if (probe["tcpSocket"] !== undefined) {
    const tcp = asRecord(probe["tcpSocket"], json);
    return [{ kind: "tcp", host: word(tcp["host"], LOOPBACK), port: port(tcp, userPort) }];
  }
  if (probe["grpc"] !== undefined) {
    const grpc = asRecord(probe["grpc"], json);
    const service = word(grpc["service"], "");
    return [{ kind: "grpc", host: LOOPBACK, port: port(grpc, userPort), service }];
  }
  return [];
}

function parseHttp(get: Fields, userPort: number, json: string): ProbeSpec {
  const headers = Array.isArray(get["httpHeaders"]) ? get["httpHeaders"] : [];
  const path = word(get["path"], "/");
  return {
    kind: "http",
    host: word(get["host"], LOOPBACK),
    port: port(get, userPort),
    path: path.startsWith("/") ? path : `/${path}`,
    secure: word(get["scheme"], "HTTP").toUpperCase() === "HTTPS",
    headers: headers.map((entry): readonly [string, string] => {
      const header = asRecord(entry, json);
      return [word(header["name"], ""), word(header["value"], "")];
    }),
  };
}

function port(fields: Fields, fallback: number): number {
  const number = Number(fields["port"]);
  return Number.isInteger(number) && number > 0 ? number : fallback;
}

function word(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

function positive(value: unknown, fallback: number): number {
  return typeof value === "number" && value > 0 ? value : fallback;
}

function asRecord(value: unknown, json: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(json);
  return Object.fromEntries(Object.entries(value));
}

function invalid(json: string, cause?: unknown): PlatformError {
  return new PlatformError(
    "ERR_CONFIG_INVALID",
    `SERVING_READINESS_PROBE: got ${json}, expected a Kubernetes probe or an array of them`,
    { cause },
  );
}
