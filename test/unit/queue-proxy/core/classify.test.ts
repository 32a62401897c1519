/** What arrived: probes, misdirected requests, traffic of both kinds. */
import { describe, expect, it } from "vitest";
import { classify, isProxied, readMarks } from "../../../../queue-proxy/core/classify.ts";

const UID = "uid-1";

const ROWS: readonly [name: string, headers: readonly string[], expected: string][] = [
  ["plain traffic", ["Host", "a", "User-Agent", "curl/8"], "foreign"],
  [
    "a kubelet probe",
    ["User-Agent", "kube-probe/1.34", "K-Network-Probe", "queue"],
    "readiness-probe",
  ],
  ["a kubelet probe without its header", ["User-Agent", "kube-probe/1.34"], "readiness-probe"],
  ["an activator probe", ["User-Agent", "Knative-Activator-Probe"], "readiness-probe"],
  ["an autoscaler probe", ["User-Agent", "Knative-Autoscaling-Probe"], "readiness-probe"],
  ["an ingress probe", ["K-Network-Probe", "probe", "K-Network-Hash", "h"], "ingress-probe"],
  ["a queue probe of an unknown agent", ["K-Network-Probe", "queue"], "foreign"],
  ["a container probe", ["K-Kubelet-Probe", "queue"], "container-probe"],
  ["an empty container probe mark", ["K-Kubelet-Probe", ""], "foreign"],
  ["a request for this pod", ["Pilotlight-Target-Uid", UID], "leased"],
  ["a request for another pod", ["pilotlight-target-uid", "uid-2"], "misdirected"],
  ["a request for a pod without a name", ["Pilotlight-Target-Uid", ""], "misdirected"],
  [
    "a probe for another pod",
    ["User-Agent", "Knative-Activator-Probe", "Pilotlight-Target-Uid", "uid-2"],
    "misdirected",
  ],
];

describe("classify", () => {
  it.each(ROWS)("names %s", (_name, headers, expected) => {
    expect(classify(readMarks(headers), UID)).toBe(expected);
  });

  it("takes nobody's word for its name while it has none", () => {
    expect(classify(readMarks(["Pilotlight-Target-Uid", UID]), "")).toBe("misdirected");
  });
});

it("takes the first value of a repeated header", () => {
  expect(readMarks(["X", "y", "K-Proxy-Request", "activator", "K-Proxy-Request", "other"])).toEqual(
    {
      proxyRequest: "activator",
    },
  );
});

it("counts as proxied only what an activator marked", () => {
  expect(isProxied({ proxyRequest: "activator" })).toBe(true);
  expect(isProxied({ proxyRequest: "yes" })).toBe(false);
  expect(isProxied({})).toBe(false);
});
