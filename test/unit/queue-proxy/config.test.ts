/** The stock environment, as Knative writes it. */
import { describe, expect, it } from "vitest";
import { bindHost, readQueueProxyConfig } from "../../../queue-proxy/config.ts";

const STOCK = {
  SERVING_NAMESPACE: "default",
  SERVING_SERVICE: "echo",
  SERVING_CONFIGURATION: "echo",
  SERVING_REVISION: "echo-00001",
  QUEUE_SERVING_PORT: "8012",
  QUEUE_SERVING_TLS_PORT: "8112",
  CONTAINER_CONCURRENCY: "1",
  REVISION_TIMEOUT_SECONDS: "300",
  REVISION_RESPONSE_START_TIMEOUT_SECONDS: "",
  REVISION_IDLE_TIMEOUT_SECONDS: "0",
  SERVING_POD: "pod",
  SERVING_POD_IP: "10.1.2.3",
  SERVING_LOGGING_CONFIG: "",
  SERVING_LOGGING_LEVEL: "",
  USER_PORT: "8080",
  SYSTEM_NAMESPACE: "knative-serving",
  SERVING_READINESS_PROBE: "",
  ENABLE_HTTP2_AUTO_DETECTION: "false",
  ENABLE_MULTI_CONTAINER_PROBES: "false",
};

describe("readQueueProxyConfig", () => {
  it("reads what stock Knative gives", () => {
    expect(readQueueProxyConfig(STOCK)).toMatchObject({
      containerConcurrency: 1,
      timeoutSeconds: 300,
      responseStartTimeoutSeconds: 0,
      servingPort: 8_012,
      userPort: 8_080,
      logLevel: "info",
      podRoot: undefined,
      http2AutoDetection: false,
    });
  });

  it("names every fault at once", () => {
    const read = () =>
      readQueueProxyConfig({ ...STOCK, CONTAINER_CONCURRENCY: "-1", USER_PORT: undefined });
    expect(read).toThrow(/CONTAINER_CONCURRENCY: got "-1"[\s\S]*USER_PORT: is not set/);
  });

  it.each([
    ["debug", "debug"],
    ["WARNING", "warn"],
    ["dpanic", "error"],
    ["verbose", "info"],
  ])("takes the log level %s as %s", (SERVING_LOGGING_LEVEL, logLevel) => {
    expect(readQueueProxyConfig({ ...STOCK, SERVING_LOGGING_LEVEL })).toMatchObject({ logLevel });
  });
});

it.each([
  ["127.9.8.7", "127.9.8.7"],
  ["10.0.0.1", undefined],
  ["fd00::1", undefined],
])("binds for a pod at %s on %s", (podIp, host) => {
  expect(bindHost(podIp)).toBe(host);
});
