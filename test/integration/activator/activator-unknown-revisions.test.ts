/** Names of revisions in a cluster: what nobody made is refused, what is on its way is waited for. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createApiReader } from "../../../activator/api-reader.ts";
import { nameByCluster } from "../../../activator/core/name-revision.ts";
import { createClusterIdentity } from "../../../activator/pod-identity.ts";
import { RevisionLookup } from "../../../activator/revision-lookup.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import { StubPod } from "../../support/activator-stub-pod.ts";
import { ApiServerStub, createSigningKey, podToken } from "../../support/api-server-stub.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let api: ApiServerStub;
let activator: BenchActivator;

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  api = new ApiServerStub();
  await api.listen();
  const read = createApiReader(api.options);
  const logger = createLogger({ name: "test", level: "silent" });
  const lookup = new RevisionLookup({ read, clock: systemClock, logger });
  activator = await bench.activator(
    {},
    {
      identity: createClusterIdentity(api.options),
      nameRevision: () => (request) => nameByCluster(request, "cluster.local"),
      isRouted: (revision) => lookup.mayExist(revision),
    },
  );
});
afterEach(async () => {
  await bench.close();
  await api.close();
});

const named = (revision: string): Promise<Reply> =>
  call(activator.dataUrl, "/", {
    host: "echo.example.com",
    headers: { "knative-serving-namespace": "default", "knative-serving-revision": revision },
  });

describe("a revision that the store does not know", () => {
  it("is 404 at once when the API server does not know it either", async () => {
    const startedAt = performance.now();
    const reply = await named("nobody-00001");
    expect(reply.status).toBe(404);
    expect(reply.headers["pilotlight-reason"]).toBe("no_such_service");
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  it("named by a host of the cluster's form is treated alike", async () => {
    const reply = await call(activator.dataUrl, "/", {
      host: "nobody-00001.default.svc.cluster.local:80",
    });
    expect(reply.status).toBe(404);
  });

  it("that exists waits until its configuration is there", async () => {
    api.revisions.add(REVISION);
    const reply = named("echo-00001");
    await eventually(() => api.asks("/revisions/") > 0);
    await bench.configure();
    const key = await createSigningKey("one");
    api.keys = [key];
    const uid = "uid-late";
    const address = `127.0.${10 + (process.pid % 200)}.77`;
    api.pods.set("default/late", {
      metadata: { uid, labels: { "serving.knative.dev/revision": "echo-00001" } },
      status: { podIP: address },
    });
    const token = (): Promise<string> => podToken(key, { uid, pod: "late" });
    const pod = new StubPod({ uid, address, revision: REVISION, secret: "", token });
    await pod.listen();
    try {
      await pod.register(activator.push);
      expect((await reply).status).toBe(200);
    } finally {
      await pod.stop();
    }
  });

  it("is not refused while the API server is away", async () => {
    api.isAway = true;
    const left = new AbortController();
    const outcome = call(activator.dataUrl, "/", {
      headers: { "knative-serving-namespace": "default", "knative-serving-revision": "new-00001" },
      signal: left.signal,
    }).catch(() => "left");
    await eventually(() => api.asks("/revisions/") >= 3);
    left.abort();
    expect(await outcome).toBe("left");
  });

  it("costs one question, however many ask for it", async () => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => named("nobody-00002")));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([404]));
    expect(api.asks("/revisions/nobody-00002")).toBeLessThanOrEqual(2);
  });
});
