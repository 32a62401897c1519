/** To which of many activators the real sidecar pushes, and when it moves. */
import { afterEach, describe, expect, it } from "vitest";
import { orderActivators } from "../../../queue-proxy/core/activator-order.ts";
import type { ModelServer } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";
import type { PushReceiver } from "../../support/queue-proxy-receiver.ts";
import { startPushReceiver } from "../../support/queue-proxy-receiver.ts";

const REVISION = "echo-00001";
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Stage {
  readonly sidecar: SidecarProcess;
  readonly model: ModelServer;
  readonly receivers: readonly PushReceiver[];
  /** The best first for a part of that size, 0 for all; of all activators but those named. */
  readonly order: (count: number, without?: readonly PushReceiver[]) => PushReceiver[];
}

/** Five activators, and a pod whose favourite among all is none of the two that serve its revision. */
async function stage(): Promise<Stage> {
  const receivers = await Promise.all(Array.from({ length: 5 }, () => startPushReceiver()));
  cleanups.push(...receivers.map((receiver) => () => receiver.stop()));
  const orderFor =
    (pod: string): Stage["order"] =>
    (count, without = []) => {
      const known = receivers.filter((receiver) => !without.includes(receiver));
      const byName = new Map(known.map((receiver) => [receiver.endpoint, receiver]));
      return orderActivators([...byName.keys()], { count, revision: REVISION, pod }).flatMap(
        (name) => byName.get(name) ?? [],
      );
    };
  const pods = Array.from({ length: 100 }, (_, index) => `${REVISION}-deployment-${index}`);
  const isFarFromHome = (pod: string): boolean =>
    !orderFor(pod)(2)
      .slice(0, 2)
      .includes(first(orderFor(pod)(0)));
  const pod = pods.find(isFarFromHome) ?? "";
  const model = await startModelServer({});
  cleanups.push(() => model.stop());
  const sidecar = await startSidecar({
    userPort: model.port,
    activators: receivers.map(({ endpoint }) => endpoint),
    env: {
      SERVING_POD: pod,
      SERVING_READINESS_PROBE: JSON.stringify({
        httpGet: { path: "/ready", port: model.port, host: "127.0.0.1", scheme: "HTTP" },
        successThreshold: 1,
        failureThreshold: 1,
      }),
    },
  });
  cleanups.push(() => sidecar.stop());
  return { sidecar, model, receivers, order: orderFor(pod) };
}

function first(receivers: readonly PushReceiver[]): PushReceiver {
  const [receiver] = receivers;
  if (receiver === undefined) throw new Error("no activator");
  return receiver;
}

const endpoints = (receivers: readonly PushReceiver[]): string[] =>
  receivers.map(({ endpoint }) => endpoint);

describe("the activator that a pod pushes to", () => {
  it("serves its revision from the first word on, without a detour", async () => {
    const { receivers, order } = await stage();
    const home = first(order(2));
    await home.seen(({ state }) => state === "ready");
    expect(receivers.filter(({ pushes }) => pushes.length > 0)).toEqual([home]);
  });

  it("changes with the number that serve the revision, and back", async () => {
    const { receivers, order } = await stage();
    const [home, bestOfAll] = [first(order(2)), first(order(0))];
    await home.seen(({ state }) => state === "ready");
    for (const receiver of receivers) receiver.answer = { reply: { activators: 0 } };
    const moved = await bestOfAll.seen(({ kind }) => kind === "hello");
    expect(moved.state).toBe("ready");
    const known = home.pushes.length;
    for (const receiver of receivers) receiver.answer = { reply: { activators: 2 } };
    const back = await home.seen(({ kind }) => kind === "hello", { skip: known });
    expect(back.sequence).toBeGreaterThan(moved.sequence);
  });

  it("is the next best while the first is away, and the first again when it is named anew", async () => {
    const { sidecar, receivers, order } = await stage();
    const home = first(order(2));
    await home.seen(({ state }) => state === "ready");
    sidecar.setActivators(endpoints(order(0, [home])));
    const next = first(order(2, [home]));
    await next.seen(({ kind, state }) => kind === "hello" && state === "ready");
    const known = home.pushes.length;
    sidecar.setActivators(endpoints(receivers));
    await home.seen(({ kind }) => kind === "hello", { skip: known });
  });

  it("stays while the better one takes no pushes, and loses no news by trying", async () => {
    const { model, sidecar, receivers, order } = await stage();
    const home = first(order(2));
    await home.seen(({ state }) => state === "ready");
    sidecar.setActivators(endpoints(order(0, [home])));
    const next = first(order(2, [home]));
    await next.seen(({ kind }) => kind === "hello");
    home.answer = { status: 503 };
    const [tried, told] = [home.pushes.length, next.pushes.length];
    sidecar.setActivators(endpoints(receivers));
    await home.seen(({ kind }) => kind === "hello", { skip: tried });
    await next.seen(({ kind }) => kind === "change", { skip: told });
    model.setState("paused");
    await next.seen(({ state }) => state === "unready", { skip: told });
  });
});
