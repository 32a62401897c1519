/** Pods as child processes: real queue-proxies in front of a real (and misbehaving) server. */
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { podUidOf } from "../../../queue-proxy/pod-identity.ts";
import { isAlive } from "../../../local/process-groups.ts";
import type { PodSummary } from "../../../local/pod-types.ts";
import { eventually } from "../../support/eventually.ts";
import { startPodBench } from "../../support/local-pods.ts";
import type { PodBench } from "../../support/local-pods.ts";

const READY_MS = { timeoutMs: 20_000 };

async function onePod(bench: PodBench): Promise<PodSummary> {
  return eventually(() => bench.summaries().find((pod) => pod.phase === "ready"), {
    ...READY_MS,
    what: "a pod is ready",
  }).then((pod) => pod as PodSummary);
}

/** Through the sidecar, as an activator would. */
function call(pod: PodSummary, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: pod.address, port: 8012, path, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

describe("a pod", () => {
  it("is replaced when somebody else told its queue-proxy to stop", async () => {
    await using bench = await startPodBench();
    const key = bench.define("drained");
    await bench.scale(key, 1);
    const first = await onePod(bench);
    process.kill(first.sidecarPid, "SIGTERM");
    const second = await eventually(
      () => bench.summaries().find(({ phase, uid }) => phase === "ready" && uid !== first.uid),
      { ...READY_MS, what: "another pod is ready" },
    );
    expect(second.address).not.toBe(first.address);
    await eventually(() => bench.summaries().length === 1, READY_MS);
  });

  it("starts with an address, files and variables of its own, and answers through its sidecar", async () => {
    await using bench = await startPodBench();
    const key = bench.define("echo", { env: { GREETING: "hi" } });
    await bench.scale(key, 1);
    const pod = await onePod(bench);
    expect(pod.address).toMatch(/^127\./);
    const answer = JSON.parse((await call(pod, "/env")).body) as {
      greeting: string;
      env: Record<string, string>;
    };
    expect(answer.greeting).toBe("hi");
    expect(answer.env).toMatchObject({
      PORT: String(pod.userPort),
      K_SERVICE: "echo",
      K_CONFIGURATION: "echo",
      K_REVISION: "echo-00001",
      PILOTLIGHT_STATE_URL: `http://${pod.address}:8022/state`,
    });
    const root = join(bench.folder, "roots", pod.uid);
    const token = readFileSync(join(root, "var/run/secrets/tokens/pilotlight"), "utf8");
    expect(podUidOf(token)).toBe(pod.uid);
    const record = JSON.parse(
      readFileSync(join(bench.folder, "pods", `${pod.uid}.json`), "utf8"),
    ) as Record<string, unknown>;
    expect(record).toMatchObject({ uid: pod.uid, address: pod.address, revision: "echo-00001" });
    expect(await bench.pods.listPods(key)).toHaveLength(1);
  });

  it("of a service that names two cards has one of them in turn, and hears which", async () => {
    await using bench = await startPodBench();
    const key = bench.define("mixed", { cards: ["a100", "a6000"] });
    await bench.scale(key, 3);
    await eventually(
      () => bench.summaries().filter(({ phase }) => phase === "ready").length === 3,
      READY_MS,
    );
    const pods = bench.summaries();
    expect(pods.map(({ card }) => card).toSorted()).toEqual(["a100", "a100", "a6000"]);
    for (const pod of pods) {
      const { env } = JSON.parse((await call(pod, "/env")).body) as { env: Record<string, string> };
      expect(env["PILOTLIGHT_CARD"]).toBe(pod.card);
    }
  });

  it("that crashes at its start tells its last words and counts its failures", async () => {
    await using bench = await startPodBench();
    const key = bench.define("broken", { env: { CRASH: "no weights" } });
    await bench.scale(key, 1);
    const pod = await eventually(() => {
      const [first] = bench.summaries();
      return (first?.failure?.count ?? 0) >= 3 ? first : undefined;
    }, READY_MS);
    expect(pod?.failure).toMatchObject({ reason: "CrashLoopBackOff" });
    expect(pod?.failure?.message).toContain("exited with code 7");
    expect(pod?.failure?.message).toContain("cannot start: no weights");
    expect(pod?.phase).toBe("starting");
  });

  it("is started again in place when its container dies, with the same UID", async () => {
    await using bench = await startPodBench();
    const key = bench.define("fragile");
    await bench.scale(key, 1);
    const before = await onePod(bench);
    await call(before, "/die").catch(() => undefined);
    await eventually(() => bench.summaries().some((pod) => pod.restarts === 1), READY_MS);
    const after = await onePod(bench);
    expect(after.uid).toBe(before.uid);
    expect(after.userPid).not.toBe(before.userPid);
    await eventually(async () => (await call(after, "/")).status === 200, READY_MS);
  });

  it("leaves no process behind, not even in a session of its own", async () => {
    await using bench = await startPodBench();
    const key = bench.define("spawner");
    await bench.scale(key, 2);
    await eventually(
      () => bench.summaries().filter(({ phase }) => phase === "ready").length === 2,
      READY_MS,
    );
    const pods = bench.summaries();
    const children = await Promise.all(
      pods.map(async (pod) => Number((await call(pod, "/leave-behind")).body)),
    );
    expect(children.every(isAlive)).toBe(true);
    // The container of the first dies and begins anew: its child was of the life before.
    const [first, second] = pods;
    const [orphan = 0, other = 0] = children;
    if (first === undefined || second === undefined) throw new Error("two pods are needed");
    process.kill(first.userPid, "SIGKILL");
    await eventually(() => !isAlive(orphan), { what: "the child of a dead life is gone" });
    expect(isAlive(other)).toBe(true);
    await bench.pods.stop(0);
    await eventually(() => !isAlive(other), { what: "the child of a pod is gone" });
  });

  it("takes a child along that has neither its group nor its environment", async () => {
    await using bench = await startPodBench();
    const key = bench.define("daemons");
    await bench.scale(key, 1);
    await eventually(() => bench.summaries()[0]?.phase === "ready", READY_MS);
    const [pod] = bench.summaries();
    if (pod === undefined) throw new Error("a pod is needed");
    const child = Number((await call(pod, "/leave-behind?bare")).body);
    expect(isAlive(child)).toBe(true);
    await bench.pods.stop(0);
    await eventually(() => !isAlive(child), { ...READY_MS, what: "the child of a pod is gone" });
  });

  it("starts after a rehearsal that left nothing", async () => {
    await using bench = await startPodBench();
    const before = readdirSync(tmpdir()).filter((name) => name.includes("warm-up"));
    await bench.pods.warmUp();
    expect(bench.summaries()).toEqual([]);
    expect(readdirSync(tmpdir()).filter((name) => name.includes("warm-up"))).toEqual(before);
    await bench.scale(bench.define("rehearsed"), 1);
    expect((await onePod(bench)).phase).toBe("ready");
  });

  it("gets a new sidecar when that dies", async () => {
    await using bench = await startPodBench();
    await bench.scale(bench.define("side"), 1);
    const before = await onePod(bench);
    process.kill(before.sidecarPid, "SIGKILL");
    const after = await eventually(
      () => bench.summaries().find((pod) => pod.sidecarPid > 0 && pod.restarts === 1),
      READY_MS,
    );
    expect(after?.sidecarPid).not.toBe(before.sidecarPid);
    expect(after?.userPid).toBe(before.userPid);
    await onePod(bench);
    // The time since the pod began says nothing here.
    await eventually(() => bench.events.some(({ text }) => text === "ready again"), READY_MS);
  });

  it("is killed and started again when its liveness probe fails", async () => {
    await using bench = await startPodBench();
    const probe =
      "livenessProbe: { httpGet: { path: /live }, periodSeconds: 1, failureThreshold: 1 }";
    await bench.scale(bench.define("sick", { container: [probe] }), 1);
    const before = await onePod(bench);
    await call(before, "/sicken");
    await eventually(
      () => bench.events.some(({ text }) => text.includes("liveness probe failed")),
      {
        timeoutMs: 15_000,
      },
    );
    await eventually(() => bench.summaries()[0]?.restarts === 1, READY_MS);
    await onePod(bench);
  });

  it("is not ready before its startup probe has passed", async () => {
    await using bench = await startPodBench();
    const file = join(bench.folder, "logs", "warm");
    const probe = `startupProbe: { exec: { command: [test, -f, "${file}"] }, periodSeconds: 1, failureThreshold: 60 }`;
    await bench.scale(bench.define("slow", { container: [probe] }), 1);
    await eventually(() => bench.summaries()[0]?.phase === "starting", READY_MS);
    const [pod] = bench.summaries();
    await eventually(async () => (await call(pod as PodSummary, "/")).status > 0, READY_MS);
    expect(bench.summaries()[0]?.phase).toBe("starting");
    await import("node:fs/promises").then(({ writeFile }) => writeFile(file, ""));
    await onePod(bench);
  });
});

describe("fewer pods", () => {
  it("leave in the given order; one that works finishes first, then both processes end", async () => {
    await using bench = await startPodBench();
    const key = bench.define("work");
    await bench.scale(key, 2);
    await eventually(() => bench.summaries().every((pod) => pod.phase === "ready"), READY_MS);
    const [stays, leaves] = bench.summaries() as [PodSummary, PodSummary];
    const running = call(leaves, "/?ms=1500");
    await eventually(async () => (await call(leaves, "/")).status === 200);
    await bench.scale(key, 1, [leaves.uid, stays.uid]);
    expect(bench.summaries().find((pod) => pod.uid === leaves.uid)?.phase).toBe("terminating");
    expect((await running).status).toBe(200);
    expect(bench.summaries().map(({ uid }) => uid)).toContain(stays.uid);
    // Traffic that came past the activators holds the sidecar for its quiet time; cut it short.
    void bench.pods.stop(0);
    await eventually(() => !isAlive(leaves.userPid) && !isAlive(leaves.sidecarPid), READY_MS);
  });

  it("are killed at the end of the grace when they do not leave", async () => {
    await using bench = await startPodBench();
    const key = bench.define("stubborn", { env: { IGNORE_TERM: "1" }, timeoutSeconds: 2 });
    await bench.scale(key, 1);
    const pod = await onePod(bench);
    await bench.scale(key, 0);
    await eventually(() => bench.summaries().length === 0, { timeoutMs: 10_000 });
    await eventually(() => !isAlive(pod.userPid) && !isAlive(pod.sidecarPid));
  });

  it("are replaced when one is evicted", async () => {
    await using bench = await startPodBench();
    const key = bench.define("evict");
    await bench.scale(key, 1);
    const pod = await onePod(bench);
    await bench.pods.replacePod(key, pod.uid, "it never recovered");
    const successor = await eventually(
      () => bench.summaries().find(({ uid, phase }) => uid !== pod.uid && phase === "ready"),
      READY_MS,
    );
    expect(successor?.address).not.toBe(pod.address);
  });
});
