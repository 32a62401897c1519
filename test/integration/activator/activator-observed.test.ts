/** Traces and the request log of an activator: what a collector and a reader of lines get. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readActivatorConfig } from "../../../activator/config.ts";
import { RequestTimer } from "../../../activator/core/request-timer.ts";
import { readObservability } from "../../../activator/observing-config.ts";
import { Observing } from "../../../activator/observing.ts";
import { RevisionEntry } from "../../../activator/revision-entry.ts";
import type { RequestHead } from "../../../proxy/types.ts";
import { ActivatorBench, call } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { TraceCollector } from "../../support/trace-collector.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const PARENT = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" };
const traceparent = (flags: string): string => `00-${PARENT.trace}-${PARENT.span}-${flags}`;

let server: ValkeyServer;
let bench: ActivatorBench;
let collector: TraceCollector;
let endpoint = "";

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
beforeEach(async () => {
  collector = new TraceCollector();
  endpoint = await collector.listen();
  bench = new ActivatorBench(server.url, server.freshPrefix());
  await bench.configure();
});
afterEach(async () => {
  await bench.close();
  await collector.close();
});

const seenParent = (rawHeaders: readonly string[] | undefined): string => {
  const at = (rawHeaders ?? []).findIndex((name) => name.toLowerCase() === "traceparent");
  return at < 0 ? "" : (rawHeaders?.[at + 1] ?? "");
};

describe("traces", () => {
  it("follow the caller's trace, name our span to the pod, and tell the parts of a cold start", async () => {
    const activator = await bench.activator({ PILOTLIGHT_TRACING_ENDPOINT: endpoint });
    const pod = await bench.pod();
    const held = call(activator.dataUrl, "/infer?key=secret", {
      headers: { traceparent: traceparent("01") },
    });
    await eventually(async () => (await bench.waiting()) === 1);
    await pod.register(activator.push);
    expect((await held).status).toBe(200);
    await eventually(() => collector.spans.some(({ name }) => name === "activator"));
    const root = collector.spans.find(({ name }) => name === "activator");
    expect(root).toMatchObject({
      traceId: PARENT.trace,
      parentSpanId: PARENT.span,
      kind: 2,
      service: "activator",
      attributes: {
        "http.request.method": "GET",
        "http.response.status_code": "200",
        "kn.service.name": "echo",
        "kn.revision.name": "echo-00001",
        "pilotlight.cold_start": "true",
        "url.path": "/infer",
      },
    });
    const parts = collector.spans.filter(({ parentSpanId }) => parentSpanId === root?.spanId);
    const names = parts.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["cold start", "upstream"]));
    for (const { startTimeUnixNano: start, endTimeUnixNano: end } of parts) {
      expect(BigInt(start)).toBeGreaterThanOrEqual(
        BigInt(root?.startTimeUnixNano ?? 0) - 2_000_000n,
      );
      expect(BigInt(end)).toBeLessThanOrEqual(BigInt(root?.endTimeUnixNano ?? 0) + 2_000_000n);
      expect(BigInt(end)).toBeGreaterThan(BigInt(start));
    }
    expect(seenParent(pod.seen[0]?.rawHeaders)).toBe(`00-${PARENT.trace}-${root?.spanId}-01`);
  });

  it("are not made where the caller or the rate says no, and the decision goes on", async () => {
    const activator = await bench.activator({
      PILOTLIGHT_TRACING_ENDPOINT: endpoint,
      PILOTLIGHT_TRACING_SAMPLING_RATE: "0",
    });
    const pod = await bench.pod();
    await pod.register(activator.push);
    await call(activator.dataUrl, "/", { headers: { traceparent: traceparent("00") } });
    await call(activator.dataUrl, "/");
    await activator.drain();
    expect(collector.spans).toEqual([]);
    const [asked, alone] = pod.seen.map(({ rawHeaders }) => seenParent(rawHeaders));
    expect(asked).toMatch(new RegExp(`^00-${PARENT.trace}-[0-9a-f]{16}-00$`));
    expect(alone).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  it("leave requests alone while nobody asks for them", async () => {
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    await call(activator.dataUrl, "/", { headers: { traceparent: traceparent("01") } });
    expect(seenParent(pod.seen[0]?.rawHeaders)).toBe(traceparent("01"));
    expect(collector.posts).toBe(0);
  });
});

describe("the request log", () => {
  it("is switched, changed and ended in the mounted settings, without a restart", async () => {
    const lines: string[] = [];
    const folder = mkdtempSync(join(tmpdir(), "pilotlight-observability-"));
    const set = (key: string, value: string): void => writeFileSync(join(folder, key), value);
    const observing = new Observing({ tracer: null, write: (line) => lines.push(line) });
    const config = readActivatorConfig({
      PILOTLIGHT_STORE_URL: "redis://127.0.0.1:1",
      PILOTLIGHT_OBSERVABILITY_FOLDER: folder,
    });
    const entry = new RevisionEntry("default/echo-00001", 0);
    const once = (): void => {
      const observer = observing.follow(HEAD, entry);
      const timer = new RequestTimer(1_000);
      observer?.ended(timer, { status: 200, cancelled: false, cold: false, endedAt: 1_250 });
    };
    const look = (): void => {
      const file = readObservability(config);
      file.watch(observing);
      file.stop();
    };
    try {
      look();
      once();
      expect(lines).toEqual([]);
      set("logging.enable-request-log", "true");
      set(
        "logging.request-log-template",
        "{{.Request.Method}} {{.Response.Code}} {{.Response.Latency}} {{.Revision.Name}}",
      );
      look();
      once();
      expect(lines).toEqual(["GET 200 0.25 echo-00001\n"]);
      set("logging.request-log-template", "{{nothing .Request}}");
      look();
      once();
      expect(lines[1]).toMatch(/^Invalid request log template: /);
      set("logging.enable-request-log", "false");
      look();
      once();
      expect(lines).toHaveLength(2);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

const HEAD: RequestHead = {
  method: "GET",
  target: "/x",
  httpVersion: "1.1",
  headers: [],
  host: "echo",
  remoteAddress: "127.0.0.1",
  remotePort: 1,
  upgrade: "",
  expectsContinue: false,
  contentLength: 0,
};
