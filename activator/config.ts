/** Options of the activator, read from its environment once and frozen. */
import { randomBytes } from "node:crypto";
import { flag, integer, oneOf, readConfig, text } from "../foundation/config.ts";
import type { Parser, ParserTable } from "../foundation/config.ts";
import { address, parseAddress } from "../foundation/listen-address.ts";
import type { Address } from "../foundation/listen-address.ts";
import { LOG_LEVELS } from "../foundation/logger.ts";
import type { LogLevel } from "../foundation/logger.ts";
import type { FrontForm } from "../proxy/types.ts";
import { FRONT_FORMS } from "../proxy/types.ts";
import type { TlsSettings } from "../proxy/tls-port.ts";
import type { InternalTlsOptions } from "./internal-tls.ts";
import { observingVariables } from "./observing-config.ts";
import type { ObservingConfig } from "./observing-config.ts";
import { runVariables } from "./runs/run-config.ts";
import type { RunConfig } from "./runs/run-config.ts";
import { parseGateways, parseWeights } from "./core/tenants.ts";

export type InternalTlsConfig = Pick<
  InternalTlsOptions,
  "folder" | "bundleFolder" | "listen" | "settings"
>;

export interface ActivatorConfig extends RunConfig, ObservingConfig {
  readonly storeUrl: string;
  readonly storePrefix: string;
  /** As its operator calls it. */
  readonly activatorName: string;
  /**
   * The name and a mark of this life of the process: in the store a second life must not renew the
   * leases of the first.
   */
  readonly activatorId: string;
  /** Port that several activators of one machine share; null without one. */
  readonly sharedListen: Address | null;
  /** Data port of this process alone; 0 picks a free one. */
  readonly listen: Address;
  /** The second data port that the ingress uses for revisions with a port named `h2c`; null locally. */
  readonly h2cListen: Address | null;
  /** TLS inside the cluster, both ways; null: clear text only. */
  readonly internalTls: InternalTlsConfig | null;
  /** Pushes, health, metrics. */
  readonly pushListen: Address;
  /** Local mode: where routes, pod records and the secret lie. Empty in a cluster. */
  readonly runFolder: string;
  readonly clusterDomain: string;
  /** Websocket of the stock autoscaler; empty: none. */
  readonly stockAutoscalerUrl: string;
  readonly podName: string;
  readonly apiUrl: string;
  readonly accountFolder: string;
  /** Longest wait for a connection to a pod (bar: 300 ms). */
  readonly connectTimeoutMs: number;
  readonly maxHeadBytes: number;
  readonly maxConnections: number;
  /** Body bytes kept for a replay (bar: 1 MiB). */
  readonly replayBytes: number;
  /** Between the first signal and the end of accepting, so that routes can notice. */
  readonly lameDuckMs: number;
  /** Who reads HTTP/1.1 requests: Node's server or our own. */
  readonly proxyFront: FrontForm;
  readonly allowDebug: boolean;
  /** Networks whose word on the tenant is believed. */
  readonly trustedGateways: readonly string[];
  /** Share of the cards by tenant while several wait; 1 for those not named. */
  readonly tenantWeights: ReadonlyMap<string, number>;
  /** Key set for callers' tokens: URL, or path of a file; empty: no token passes. */
  readonly authJwks: string;
  /** `iss` of callers' tokens; empty: any. */
  readonly authIssuer: string;
  readonly authAudience: string;
  readonly logLevel: LogLevel;
}

const MIB = 1024 * 1024;
const STOCK_AUTOSCALER_URL = "ws://autoscaler.knative-serving.svc.cluster.local:8080";
const HOUR_MS = 3_600_000;

export function readActivatorConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<ActivatorConfig> {
  const isLocal = (env["PILOTLIGHT_RUN_FOLDER"] ?? "") !== "";
  return readConfig<ActivatorConfig>(env, {
    storeUrl: ["PILOTLIGHT_STORE_URL", text()],
    storePrefix: ["PILOTLIGHT_STORE_PREFIX", text("pl")],
    activatorName: ["PILOTLIGHT_ACTIVATOR_ID", name],
    activatorId: ["PILOTLIGHT_ACTIVATOR_ID", (value) => `${name(value)}.${mark()}`],
    sharedListen: ["PILOTLIGHT_SHARED_LISTEN", optionalAddress],
    listen: ["PILOTLIGHT_LISTEN", address(isLocal ? "127.0.0.1:0" : ":8012")],
    h2cListen: ["PILOTLIGHT_H2C_LISTEN", optionalAddressOr(isLocal ? "" : ":8013")],
    pushListen: ["PILOTLIGHT_PUSH_LISTEN", address(isLocal ? "127.0.0.1:0" : ":8014")],
    internalTls: ["PILOTLIGHT_SYSTEM_INTERNAL_TLS", internalTlsSwitch(env)],
    runFolder: ["PILOTLIGHT_RUN_FOLDER", text("")],
    clusterDomain: ["CLUSTER_DOMAIN", text("cluster.local")],
    stockAutoscalerUrl: [
      "PILOTLIGHT_STOCK_AUTOSCALER_URL",
      text(isLocal ? "" : STOCK_AUTOSCALER_URL),
    ],
    podName: ["POD_NAME", text("")],
    apiUrl: ["PILOTLIGHT_API_URL", text("https://kubernetes.default.svc")],
    accountFolder: [
      "PILOTLIGHT_ACCOUNT_FOLDER",
      text("/var/run/secrets/kubernetes.io/serviceaccount"),
    ],
    connectTimeoutMs: [
      "PILOTLIGHT_CONNECT_TIMEOUT_MS",
      integer({ min: 10, max: 30_000, fallback: 300 }),
    ],
    maxHeadBytes: [
      "PILOTLIGHT_MAX_HEAD_BYTES",
      integer({ min: 4_096, max: 16 * MIB, fallback: MIB }),
    ],
    maxConnections: [
      "PILOTLIGHT_MAX_CONNECTIONS",
      integer({ min: 0, max: 1_000_000, fallback: 50_000 }),
    ],
    replayBytes: ["PILOTLIGHT_REPLAY_BYTES", integer({ min: 0, max: 64 * MIB, fallback: MIB })],
    // Stock Knative serves on for 45 s, while endpoints and ingress learn of the stop.
    lameDuckMs: [
      "PILOTLIGHT_LAME_DUCK_MS",
      integer({ min: 0, max: HOUR_MS, fallback: isLocal ? 0 : 45_000 }),
    ],
    proxyFront: ["PILOTLIGHT_PROXY_FRONT", oneOf(FRONT_FORMS, "raw")],
    ...callerVariables(isLocal),
    ...runVariables(isLocal),
    ...observingVariables(),
    logLevel: ["PILOTLIGHT_LOG_LEVEL", oneOf(LOG_LEVELS, "info")],
  });
}

/** Who callers are, and what they may ask for. */
function callerVariables(
  isLocal: boolean,
): ParserTable<
  Pick<
    ActivatorConfig,
    "authJwks" | "authIssuer" | "authAudience" | "allowDebug" | "trustedGateways" | "tenantWeights"
  >
> {
  return {
    authJwks: ["PILOTLIGHT_AUTH_JWKS", text("")],
    authIssuer: ["PILOTLIGHT_AUTH_ISSUER", text("")],
    // Not the audience of pods' own tokens: those must open no service.
    authAudience: ["PILOTLIGHT_AUTH_AUDIENCE", text("pilotlight-services")],
    allowDebug: ["PILOTLIGHT_ALLOW_DEBUG", flag(true)],
    trustedGateways: ["PILOTLIGHT_TRUSTED_GATEWAYS", gateways(isLocal ? "127.0.0.0/8,::1" : "")],
    tenantWeights: ["PILOTLIGHT_TENANT_WEIGHTS", weights],
  };
}

/** The value of `system-internal-tls` in the stock ConfigMap `config-network`. */
function internalTlsSwitch(
  env: Readonly<Record<string, string | undefined>>,
): Parser<InternalTlsConfig | null> {
  return (value) => {
    const read = readConfig<InternalTlsVariables>(env, {
      folder: ["PILOTLIGHT_TLS_FOLDER", text("/var/run/pilotlight/routing-certs")],
      bundleFolder: ["PILOTLIGHT_TRUST_BUNDLES", text("/var/run/pilotlight/trust-bundles")],
      listen: ["PILOTLIGHT_TLS_LISTEN", address(":8112")],
      minVersion: ["ACTIVATOR_TLS_MIN_VERSION", oneOf(TLS_VERSIONS, "")],
      maxVersion: ["ACTIVATOR_TLS_MAX_VERSION", oneOf(TLS_VERSIONS, "")],
      cipherSuites: ["ACTIVATOR_TLS_CIPHER_SUITES", text("")],
      curves: ["ACTIVATOR_TLS_CURVE_PREFERENCES", text("")],
    });
    const { folder, bundleFolder, listen, ...settings } = read;
    const word = (value ?? "").toLowerCase();
    if (word === "" || word === "disabled") return null;
    if (word !== "enabled") throw new Error(`got "${value}", expected enabled or disabled`);
    return { folder, bundleFolder, listen, settings };
  };
}

interface InternalTlsVariables extends TlsSettings {
  readonly folder: string;
  readonly bundleFolder: string;
  readonly listen: Address;
}

const TLS_VERSIONS = ["", "1.2", "1.3"] as const;

function name(value: string | undefined): string {
  if (value === undefined || value === "") return "activator";
  if (/^[A-Za-z0-9._-]{1,64}$/.test(value)) return value;
  throw new Error(`got "${value}", expected up to 64 letters, digits, dots, dashes`);
}

function gateways(fallback: string): Parser<readonly string[]> {
  return (value) => {
    const networks = parseGateways(value ?? fallback);
    if (networks !== undefined) return networks;
    throw new Error(`got "${value}", expected addresses or networks like 10.96.0.0/12`);
  };
}

function weights(value: string | undefined): ReadonlyMap<string, number> {
  const parsed = parseWeights(value ?? "");
  if (parsed !== undefined) return parsed;
  throw new Error(`got "${value}", expected tenants and weights from 0.001 to 1000 like acme=3`);
}

function mark(): string {
  return randomBytes(6).toString("hex");
}

function optionalAddress(value: string | undefined): Address | null {
  return value === undefined || value === "" ? null : parseAddress(value);
}

function optionalAddressOr(fallback: string): Parser<Address | null> {
  return (value) => optionalAddress(value ?? fallback);
}
