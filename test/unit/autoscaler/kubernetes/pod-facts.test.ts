/** What is read from pod and node objects: phases, waits, failures, cards, notices. */
import { describe, expect, it } from "vitest";
import { cardName, cardOf, reclaimNotice } from "../../../../autoscaler/kubernetes/cards.ts";
import type { Node, Pod } from "../../../../autoscaler/kubernetes/objects.ts";
import { isOver, phaseOf, waitingFor } from "../../../../autoscaler/kubernetes/pod-facts.ts";
import { StartFailures } from "../../../../autoscaler/kubernetes/start-failures.ts";

type Status = NonNullable<Pod["status"]>;
type Waiting = { readonly reason?: string; readonly message?: string };

const AT = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:10:00Z";
const condition = (type: string, status: "True" | "False", at = AT, reason = ""): object => ({
  type,
  status,
  reason,
  lastTransitionTime: at,
});

function pod(status: object, rest: object = {}): Pod {
  return {
    metadata: { name: "p", uid: "u", ...(rest as { metadata?: object }).metadata },
    spec: { nodeName: "n", ...(rest as { spec?: object }).spec },
    status: { phase: "Running", ...status } as Status,
  };
}

const begun = [condition("PodScheduled", "True"), condition("Initialized", "True")];
const running = [{ name: "c", state: { running: { startedAt: AT } } }];
const waiting = (state: Waiting, restartCount = 0): Pod =>
  pod({
    conditions: [...begun, condition("Ready", "False")],
    containerStatuses: [{ name: "c", restartCount, state: { waiting: state } }],
  });

describe("the phase of a pod", () => {
  const READY = { conditions: [...begun, condition("Ready", "True")], containerStatuses: running };
  it.each([
    { name: "ready", given: pod(READY), phase: "ready" },
    { name: "no node yet", given: { ...pod({ phase: "Pending" }), spec: {} }, phase: "pending" },
    {
      name: "containers being made",
      given: waiting({ reason: "ContainerCreating" }),
      phase: "pending",
    },
    {
      name: "running and never ready",
      given: pod({
        conditions: [...begun, condition("Ready", "False")],
        containerStatuses: running,
      }),
      phase: "starting",
    },
    {
      name: "running and no longer ready",
      given: pod({
        conditions: [...begun, condition("Ready", "False", LATER)],
        containerStatuses: running,
      }),
      phase: "unready",
    },
    {
      name: "deleted, though Ready says True (F06)",
      given: pod(READY, { metadata: { deletionTimestamp: AT } }),
      phase: "terminating",
    },
    {
      name: "about to be preempted",
      given: pod({
        ...READY,
        conditions: [...READY.conditions, condition("DisruptionTarget", "True")],
      }),
      phase: "terminating",
    },
  ])("$name: $phase", ({ given, phase }) => {
    expect(phaseOf(given, "")).toBe(phase);
  });

  it("is terminating on a node that goes", () => {
    expect(phaseOf(pod(READY), "its spot instance is being taken back")).toBe("terminating");
  });

  it.each(["Failed", "Succeeded"])("is over when %s, whatever its object is kept for", (phase) => {
    expect(isOver(pod({ phase }))).toBe(true);
    expect(isOver(pod(READY))).toBe(false);
  });
});

describe("what a pod waits for", () => {
  it.each([
    {
      given: pod({
        phase: "Pending",
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "0/2 nodes: Insufficient nvidia.com/gpu.",
          },
        ],
      }),
      words: "waiting for a node (Unschedulable): 0/2 nodes: Insufficient nvidia.com/gpu.",
    },
    { given: { ...pod({ phase: "Pending" }), spec: {} }, words: "waiting for a node" },
    {
      given: waiting({ reason: "ContainerCreating" }),
      words: "pulling the image or preparing volumes",
    },
    {
      given: waiting({ reason: "ImagePullBackOff", message: "no such image" }),
      words: "waiting: ImagePullBackOff: no such image",
    },
    {
      given: pod({
        conditions: [...begun, condition("Ready", "False")],
        containerStatuses: running,
      }),
      words: "",
    },
    { given: pod({ conditions: [condition("Ready", "True")] }), words: "" },
  ])("$words", ({ given, words }) => {
    expect(waitingFor(given)).toBe(words);
  });
});

describe("failures of a start", () => {
  const counted = (...states: readonly Pod[]): ReturnType<StartFailures["of"]> => {
    const failures = new StartFailures();
    for (const state of states) failures.note(state, 0);
    return failures.of(states.at(-1) ?? waiting({}), 0);
  };
  const pull = waiting({ reason: "ErrImagePull", message: "not found" });
  const pause = waiting({ reason: "ImagePullBackOff", message: "Back-off" });

  it("counts the pulls, not the pauses between them", () => {
    expect(counted(pull)).toMatchObject({ reason: "ImagePullBackOff", count: 1 });
    expect(counted(pull, pause, pause)).toMatchObject({ count: 1 });
    expect(counted(pull, pause, pull, pause, pull)).toMatchObject({ count: 3 });
    expect(counted(pull, pull)).toMatchObject({ count: 1 });
  });

  it("knows that a third pull has failed after a minute, seen or not", () => {
    const failures = new StartFailures();
    failures.note(pause, 0);
    expect(failures.of(pause, 59_000)?.count).toBe(1);
    expect(failures.of(pause, 60_000)?.count).toBe(3);
  });

  it("counts restarts of a container that ends at each start, with its last words", () => {
    const crash = (restarts: number): Pod => ({
      ...waiting({ reason: "CrashLoopBackOff" }, restarts),
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "user-container",
            restartCount: restarts,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { reason: "Error", exitCode: 3, message: "no model\n" } },
          },
        ],
      },
    });
    expect(counted(crash(1))).toMatchObject({ count: 2 });
    expect(counted(crash(1), crash(1), crash(2))).toEqual({
      reason: "CrashLoopBackOff",
      message: "user-container ends at each start: Error (exit code 3): no model",
      count: 3,
    });
  });

  it("begins anew once the pod was ready", () => {
    const ready = pod({ conditions: [condition("Ready", "True")] });
    expect(counted(pull, pause, pull, ready, pull)).toMatchObject({ count: 1 });
    expect(counted(pull, ready)).toBeNull();
  });

  it("counts by time what kubelet tries again without a trace", () => {
    const failures = new StartFailures();
    const broken = waiting({ reason: "CreateContainerConfigError", message: "secret not found" });
    failures.note(broken, 0);
    expect(failures.of(broken, 5_000)?.count).toBe(1);
    expect(failures.of(broken, 21_000)?.count).toBe(3);
  });

  it("does not mix kinds, nor pods, and forgets", () => {
    expect(counted(pull, pause, waiting({ reason: "InvalidImageName" }))).toMatchObject({
      count: 1,
    });
    const failures = new StartFailures();
    failures.note(pull, 0);
    expect(failures.of({ ...pull, metadata: { name: "q", uid: "other" } }, 0)).toBeNull();
    failures.forget("u");
    expect(failures.of(pull, 0)).toBeNull();
  });
});

describe("the card of a node", () => {
  it.each([
    ["NVIDIA-H100-80GB-HBM3", "H100"],
    ["NVIDIA-A100-SXM4-40GB", "A100"],
    ["NVIDIA-A100-PCIE-80GB", "A100"],
    ["NVIDIA-L4", "L4"],
    ["NVIDIA-L40S", "L40S"],
    ["Tesla-T4", "T4"],
    ["nvidia-tesla-v100", "V100"],
    ["NVIDIA-GeForce-RTX-4090", "RTX-4090"],
    ["AMD_Instinct_MI300X", "INSTINCT-MI300X"],
    ["NVIDIA", "NVIDIA"],
  ])("%s is %s", (label, name) => {
    expect(cardName(label)).toBe(name);
  });

  it("comes from the first label that is there, ours as it is written", () => {
    const node = (labels: Record<string, string>): Node => ({ metadata: { name: "n", labels } });
    expect(cardOf(node({ "nvidia.com/gpu.product": "NVIDIA-L4" }))).toBe("L4");
    expect(
      cardOf(node({ "nvidia.com/gpu.product": "NVIDIA-L4", "pilotlight.dev/card": "L4-half" })),
    ).toBe("L4-half");
    expect(cardOf(node({}))).toBe("default");
    expect(cardOf(undefined)).toBe("default");
  });
});

describe("the notice of a node", () => {
  const node = (rest: object): Node => ({ metadata: { name: "n" }, ...rest });
  it.each([
    { spec: { taints: [{ key: "aws-node-termination-handler/spot-itn" }] }, words: "taken back" },
    { spec: { taints: [{ key: "karpenter.sh/disrupted" }] }, words: "Karpenter" },
    { status: { conditions: [condition("TerminationScheduled", "True")] }, words: "gave notice" },
  ])("is given: $words", ({ words, ...rest }) => {
    expect(reclaimNotice(node(rest))).toContain(words);
  });

  it.each([
    { spec: { taints: [{ key: "nvidia.com/gpu", effect: "NoSchedule" }] } },
    { spec: { unschedulable: true, taints: [{ key: "node.kubernetes.io/unschedulable" }] } },
    { spec: { taints: [{ key: "constructor" }] } },
    { status: { conditions: [condition("TerminationScheduled", "False")] } },
    {},
  ])("is none: %j", (rest) => {
    expect(reclaimNotice(node(rest))).toBe("");
    expect(reclaimNotice(undefined)).toBe("");
  });
});
