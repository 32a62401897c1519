/** Pods of a cluster at a whole activator: tokens, pod objects, and an API server that goes away. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PodObject } from "../../../activator/core/pod-object.ts";
import { createClusterIdentity } from "../../../activator/pod-identity.ts";
import type { TargetView } from "../../../common/contracts/routing.ts";
import { ActivatorBench, REVISION } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import { StubPod } from "../../support/activator-stub-pod.ts";
import { ApiServerStub, createSigningKey, podToken } from "../../support/api-server-stub.ts";
import type { SigningKey, TokenOf } from "../../support/api-server-stub.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let api: ApiServerStub;
let key: SigningKey;
let activator: BenchActivator;
let pods: StubPod[];
let made = 0;

beforeAll(async () => {
  valkey = await startValkey();
  key = await createSigningKey("one");
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
  api = new ApiServerStub();
  await api.listen();
  api.keys = [key];
  pods = [];
  activator = await newActivator();
});
afterEach(async () => {
  for (const pod of pods) await pod.stop();
  await bench.close();
  await api.close();
});

/** An activator of a cluster, but for its ports. */
function newActivator(): Promise<BenchActivator> {
  return bench.activator({}, { identity: createClusterIdentity(api.options) });
}

interface Making {
  readonly token?: Partial<TokenOf>;
  readonly object?: Partial<PodObject>;
  readonly revision?: string;
}

/** A pod with an object at the API server and a token of its own. */
async function newPod({ token, object, revision = "echo-00001" }: Making = {}): Promise<StubPod> {
  made += 1;
  const uid = `uid-${process.pid}-${made}`;
  const name = `pod-${made}`;
  const address = `127.0.${10 + (process.pid % 200)}.${150 + (made % 100)}`;
  api.pods.set(`default/${name}`, {
    metadata: { uid, labels: { "serving.knative.dev/revision": revision } },
    status: { podIP: address },
    ...object,
  });
  const pod = new StubPod({
    uid,
    address,
    revision: REVISION,
    secret: "",
    token: () => podToken(key, { uid, pod: name, ...token }),
  });
  await pod.listen();
  pods.push(pod);
  return pod;
}

async function targetOf(pod: StubPod): Promise<TargetView | undefined> {
  return (await bench.store.readTargets(REVISION)).find(({ uid }) => uid === pod.uid);
}

async function refusals(reason: string): Promise<number> {
  const page = await (await fetch(`http://${activator.push}/metrics`)).text();
  const series = `pilotlight_pushes_refused_total{reason="${reason}"} `;
  const line = page.split("\n").find((candidate) => candidate.startsWith(series));
  return Number(line?.slice(series.length) ?? "0");
}

describe("a pod of a cluster", () => {
  it("registers with its token, and its object is read once", async () => {
    const pod = await newPod();
    await pod.register(activator.push);
    await pod.push(activator.push, "change", "ready");
    expect(await targetOf(pod)).toMatchObject({ state: "ready" });
    expect(api.asks(`/pods/`)).toBe(1);
  });

  const forgeries: readonly [name: string, status: number, reason: string, making: Making][] = [
    ["with a token of another audience", 401, "unauthenticated", { token: { audience: "api" } }],
    ["with a token that is over", 401, "unauthenticated", { token: { lifetime: "-1m" } }],
    ["with the token of another pod", 403, "forbidden", { token: { uid: "somebody" } }],
    ["with a token of another namespace", 403, "forbidden", { token: { namespace: "other" } }],
    ["of another revision", 403, "forbidden", { revision: "other-00001" }],
    ["of no revision", 403, "forbidden", { object: { metadata: { uid: "x", labels: {} } } }],
    ["at another address", 403, "forbidden", { object: { status: { podIP: "10.9.8.7" } } }],
    ["that was replaced", 403, "forbidden", { object: { metadata: { uid: "another" } } }],
  ];
  for (const [name, status, reason, making] of forgeries) {
    it(`${name} is refused and counted`, async () => {
      const pod = await newPod(making);
      expect((await pod.push(activator.push, "hello", "ready")).status).toBe(status);
      expect(await targetOf(pod)).toBeUndefined();
      expect(await refusals(reason)).toBe(1);
    });
  }

  it("that was refused is not asked about again with each push", async () => {
    const pod = await newPod({ object: { metadata: { uid: "another" } } });
    for (let n = 0; n < 20; n += 1) await pod.push(activator.push, "hello", "ready");
    expect(await refusals("forbidden")).toBe(20);
    expect(api.asks("/pods/")).toBeLessThan(10);
  });

  it("signed by nobody here is refused", async () => {
    const pod = await newPod();
    api.keys = [await createSigningKey("one")];
    expect((await pod.push(activator.push, "hello", "ready")).status).toBe(401);
    expect(await targetOf(pod)).toBeUndefined();
  });
});

describe("an address that the kubelet reports later", () => {
  it("is not waited for", async () => {
    const pod = await newPod({ object: { status: {} } });
    await pod.register(activator.push);
    expect(await targetOf(pod)).toMatchObject({ state: "ready" });
  });

  it("must be the one that pushed, or the target goes", async () => {
    const pod = await newPod({ object: { status: {} } });
    await pod.register(activator.push);
    const known = [...api.pods.values()].find(({ metadata }) => metadata?.uid === pod.uid);
    for (const [name, object] of api.pods) {
      if (object === known) api.pods.set(name, { ...object, status: { podIP: "10.9.8.7" } });
    }
    await eventually(async () => (await targetOf(pod)) === undefined, { timeoutMs: 8_000 });
    expect((await pod.push(activator.push, "change", "ready")).status).toBe(403);
  });
});

describe("probes that only the kubelet runs", () => {
  const spec = (probe: object): NonNullable<PodObject["spec"]> => ({
    containers: [{ name: "user", ...probe }, { name: "queue-proxy" }],
  });
  const ready = (status: string): NonNullable<PodObject["status"]> => ({
    conditions: [{ type: "Ready", status }],
  });
  const nameOf = (pod: StubPod): string =>
    [...api.pods].find(([, { metadata }]) => metadata?.uid === pod.uid)?.[0] ?? "";
  const become = (pod: StubPod, status: string): void => {
    const name = nameOf(pod);
    api.pods.set(name, { ...api.pods.get(name), status: ready(status) });
  };

  for (const probe of [{ startupProbe: {} }, { readinessProbe: { exec: {} } }]) {
    it(`hold a pod back until it is Ready: ${Object.keys(probe).join()}`, async () => {
      const object = { spec: spec(probe), status: ready("False") };
      const pod = await newPod({ object });
      await pod.register(activator.push);
      expect(await targetOf(pod)).toMatchObject({ state: "starting" });
      become(pod, "True");
      await eventually(async () => (await targetOf(pod))?.state === "ready", { timeoutMs: 8_000 });
    });
  }

  it("may fail again where they go on", async () => {
    const object = { spec: spec({ readinessProbe: { exec: {} } }), status: ready("True") };
    const pod = await newPod({ object });
    await pod.register(activator.push);
    expect(await targetOf(pod)).toMatchObject({ state: "ready" });
    become(pod, "False");
    await eventually(async () => (await targetOf(pod))?.state === "unready", { timeoutMs: 12_000 });
  }, 20_000);

  it("pass once at the start", async () => {
    const object = { spec: spec({ startupProbe: {} }), status: ready("True") };
    const pod = await newPod({ object });
    await pod.register(activator.push);
    expect(await targetOf(pod)).toMatchObject({ state: "ready" });
    expect(api.asks("/pods/")).toBe(1);
  });
});

describe("while the API server is away", () => {
  it("a pod goes over to another activator as it was", async () => {
    const pod = await newPod();
    await pod.register(activator.push);
    const other = await newActivator();
    const stranger = await newPod();
    // Its keys are at hand, as after a while of work.
    await stranger.register(other.push);
    api.isAway = true;
    expect((await pod.push(other.push, "hello", "ready")).status).toBe(200);
    expect(await targetOf(pod)).toMatchObject({ state: "ready" });
  });

  it("a pod that routing does not know has to come back", async () => {
    const known = await newPod();
    await known.register(activator.push);
    api.isAway = true;
    const pod = await newPod();
    expect((await pod.push(activator.push, "hello", "ready")).status).toBe(503);
    expect(await refusals("api_unavailable")).toBe(1);
    api.isAway = false;
    expect((await pod.push(activator.push, "hello", "ready")).status).toBe(200);
  });

  it("nobody takes the place of a pod that routing knows", async () => {
    const known = await newPod();
    await known.register(activator.push);
    const other = await newActivator();
    await (await newPod()).register(other.push);
    api.isAway = true;
    const forged = await newPod({ token: { uid: known.uid } });
    const { status } = await forged.push(other.push, "hello", "ready", { podUid: known.uid });
    expect(status).toBe(503);
    expect(await targetOf(known)).toMatchObject({ address: `${known.address}:${known.port}` });
  });
});
