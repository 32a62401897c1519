/** What the controller's observability settings switch: request log and metrics page. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ModelServer } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import { eventually } from "../../support/eventually.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { TraceCollector } from "../../support/trace-collector.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";

const STOCK_DEFAULT = {
  tracing: { protocol: "none" },
  metrics: { protocol: "none" },
  runtime: { profiling: "disabled", exportInterval: 15_000_000_000 },
  requestMetrics: { protocol: "none" },
  requestLogTemplate:
    "{{.Request.Method}} {{.Request.RequestURI}} {{.Response.Code}} {{.Response.Size}}",
};
const KUBELET = { "user-agent": "kube-probe/1.34", "k-network-probe": "queue" };
let model: ModelServer;
let sidecar: SidecarProcess | undefined;

beforeEach(async () => {
  model = await startModelServer();
});
afterEach(async () => {
  await sidecar?.stop();
  await model.stop();
});

async function start(settings: object): Promise<SidecarProcess> {
  const env = { OBSERVABILITY_CONFIG: JSON.stringify({ ...STOCK_DEFAULT, ...settings }) };
  sidecar = await startSidecar({ userPort: model.port, env });
  return sidecar;
}

describe("the request log", () => {
  it("is off by default, and so is the metrics page", async () => {
    const { request, output } = await start({});
    await request("/echo");
    await expect(request("/metrics", { port: 9_091 })).rejects.toThrow("ECONNREFUSED");
    expect(output()).toBe("");
  });

  it("has one line per request in the operator's template, without probes", async () => {
    const { request, output } = await start({ enableRequestLog: true });
    await request("/", { headers: KUBELET, via: "foreign" });
    const { bytes } = await request("/echo?a=1", { via: "foreign" });
    await request("/status?code=404", { via: "foreign" });
    await eventually(() => output().split("\n").length === 3);
    const lines = output().split("\n");
    expect(lines[0]).toBe(`GET /echo?a=1 200 ${bytes.length}`);
    expect(lines[1]).toMatch(/^GET \/status\?code=404 404 \d+$/);
  });

  it("has probes too when asked to", async () => {
    const { request, output } = await start({
      enableRequestLog: true,
      enableProbeRequestLog: true,
    });
    await request("/", { headers: KUBELET, via: "foreign" });
    await eventually(() => output() === "GET / 200 5\n");
  });

  it.each([
    ["{{nosuch}}", 'Invalid request log template: function "nosuch" not defined'],
    ["{{.Request.Nope}}", "Invalid request log template: can't evaluate field Nope"],
  ])("says what is wrong with %s, and serves", async (requestLogTemplate, said) => {
    const { request, output } = await start({ enableRequestLog: true, requestLogTemplate });
    expect((await request("/echo")).status).toBe(200);
    await eventually(() => output().includes(said));
  });
});

it("serves metrics where the protocol is prometheus, body sizes included", async () => {
  const { request } = await start({ requestMetrics: { protocol: "prometheus" } });
  await request("/echo", { body: "x".repeat(300) });
  const { body } = await request("/metrics", { port: 9_091 });
  const ok = 'http_response_status_code="200"';
  expect(body).toContain(`http_server_request_body_size_bytes_sum{${ok}} 300`);
  expect(body).toContain(`http_server_request_body_size_bytes_bucket{${ok},le="250"} 0`);
  expect(body).toContain(`http_server_response_body_size_bytes_count{${ok}} 1`);
});

describe("traces", () => {
  it("go on from the activator's span, and tell the container's time", async () => {
    const collector = new TraceCollector();
    try {
      const endpoint = await collector.listen();
      const tracing = { protocol: "http/protobuf", endpoint, samplingRate: 0 };
      const { request } = await start({ tracing });
      const trace = "0af7651916cd43dd8448eb211c80319c";
      const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` };
      // The code for it is loaded behind the start.
      const root = await eventually(async () => {
        await request("/echo", { headers });
        return collector.spans.find(({ name }) => name === "queue-proxy");
      });
      expect(root).toMatchObject({
        traceId: trace,
        parentSpanId: "b7ad6b7169203331",
        service: "queue-proxy",
        attributes: { "http.response.status_code": "200", "url.path": "/echo" },
      });
      const parts = collector.spans.filter(({ parentSpanId }) => parentSpanId === root.spanId);
      expect(parts.map(({ name }) => name)).toContain("container");
    } finally {
      await collector.close();
    }
  });
});
