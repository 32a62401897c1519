/** What one read of a pod's object tells an activator. */
import { describe, expect, it } from "vitest";
import type { PodObject } from "../../../../activator/core/pod-object.ts";
import { factsOfPod } from "../../../../activator/core/pod-object.ts";

const CLAIM = { uid: "uid-1", podName: "pod-1", namespace: "ns", expiresAt: 0 };
const metadata = { uid: "uid-1", labels: { "serving.knative.dev/revision": "rev-1" } };
type Spec = NonNullable<PodObject["spec"]>;

describe("whose word makes a pod ready", () => {
  const exec = { readinessProbe: { exec: {} } };
  const rows: readonly [name: string, spec: Spec, until: string | undefined][] = [
    ["the sidecar's, without probes", { containers: [{ name: "user" }] }, undefined],
    [
      "the sidecar's, with probes that it runs",
      { containers: [{ readinessProbe: {} }] },
      undefined,
    ],
    [
      "also the kubelet's, with an exec probe",
      { containers: [{ name: "user", ...exec }] },
      "always",
    ],
    ["also the kubelet's, with a startup probe", { containers: [{ startupProbe: {} }] }, "first"],
    ["the stricter one's of two", { containers: [{ startupProbe: {} }, exec] }, "always"],
    [
      "also the kubelet's, of a container beside it",
      { containers: [{ name: "user" }, { name: "helper", ...exec }] },
      "always",
    ],
    [
      "also the kubelet's, of an init container that stays",
      { containers: [], initContainers: [{ restartPolicy: "Always", startupProbe: {} }] },
      "first",
    ],
    [
      "not of one that ends before",
      { containers: [], initContainers: [{ startupProbe: {} }] },
      undefined,
    ],
    ["not of the sidecar itself", { containers: [{ name: "queue-proxy", ...exec }] }, undefined],
  ];
  for (const [name, spec, until] of rows) {
    it(name, () => expect(factsOfPod(CLAIM, { metadata, spec })?.gate?.until).toBe(until));
  }

  it("follows the pod's condition", () => {
    const spec = { containers: [{ startupProbe: {} }] };
    const open = (status?: string): boolean | undefined => {
      const conditions = status === undefined ? [] : [{ type: "Ready", status }];
      return factsOfPod(CLAIM, { metadata, spec, status: { conditions } })?.gate?.isOpen;
    };
    expect([open(), open("False"), open("Unknown"), open("True")]).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});

describe("a pod", () => {
  it("without a revision is nobody's", () => {
    expect(factsOfPod(CLAIM, {})).toBeNull();
    const empty = { metadata: { labels: { "serving.knative.dev/revision": "" } } };
    expect(factsOfPod(CLAIM, empty)).toBeNull();
  });

  it("leaves open what nobody has said yet", () => {
    expect(factsOfPod(CLAIM, { metadata })).toEqual({
      uid: "uid-1",
      podName: "pod-1",
      namespace: "ns",
      service: "",
      revision: "rev-1",
      address: "",
      card: "",
      marks: {},
    });
  });
});
