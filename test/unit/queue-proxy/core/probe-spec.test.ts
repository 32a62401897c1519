/** The probe as the stock controller writes it, in all its forms. */
import { describe, expect, it } from "vitest";
import { parseProbePlan } from "../../../../queue-proxy/core/probe-spec.ts";

const USER_PORT = 8_080;
const http = { kind: "http", host: "127.0.0.1", path: "/", secure: false, headers: [] };

const ROWS: readonly [name: string, json: string, probes: readonly object[]][] = [
  [
    "Knative's default",
    '{"tcpSocket":{"port":8080,"host":"127.0.0.1"},"successThreshold":1}',
    [{ kind: "tcp", host: "127.0.0.1", port: 8_080 }],
  ],
  [
    "gRPC",
    '{"grpc":{"port":9000,"service":""},"successThreshold":1}',
    [{ kind: "grpc", host: "127.0.0.1", port: 9_000, service: "" }],
  ],
  [
    "HTTP with headers and TLS",
    '{"httpGet":{"path":"ready","port":0,"scheme":"HTTPS","httpHeaders":[{"name":"A","value":"b"}]}}',
    [{ ...http, path: "/ready", port: USER_PORT, secure: true, headers: [["A", "b"]] }],
  ],
  [
    "two containers, the first without a probe",
    '[null,{"httpGet":{"path":"/r","port":9999,"host":"127.0.0.1","scheme":"HTTP"}}]',
    [{ ...http, path: "/r", port: 9_999 }],
  ],
  ["nothing", "", []],
  ["null", "null", []],
  ["a probe of a form that the sidecar does not run", '{"exec":{"command":["x"]}}', []],
];

describe("parseProbePlan", () => {
  it.each(ROWS)("reads %s", (_name, json, probes) => {
    expect(parseProbePlan(json, USER_PORT).probes).toEqual(probes);
  });

  it("takes Kubernetes' numbers where the probe names none", () => {
    expect(parseProbePlan("{}", USER_PORT)).toMatchObject({
      periodMs: 1_000,
      timeoutMs: 1_000,
      successThreshold: 1,
      failureThreshold: 3,
      holdMs: 10_000,
    });
  });

  it("takes the probe's own numbers", () => {
    const json =
      '{"tcpSocket":{"port":1},"timeoutSeconds":2,"periodSeconds":5,"successThreshold":3,"failureThreshold":7}';
    expect(parseProbePlan(json, USER_PORT)).toMatchObject({
      periodMs: 5_000,
      timeoutMs: 2_000,
      successThreshold: 3,
      failureThreshold: 7,
      holdMs: 1_900,
    });
  });

  it.each(["{", "7", '["x"]', '{"httpGet":3}'])("refuses %s by its name", (json) => {
    expect(() => parseProbePlan(json, USER_PORT)).toThrow(/SERVING_READINESS_PROBE/);
  });
});
