/** Which revision a request is for, and which requests are probes. */
import { describe, expect, it } from "vitest";
import {
  bareHost,
  indexRoutes,
  nameByCluster,
  nameByRoute,
} from "../../../../activator/core/name-revision.ts";
import { answerProbe } from "../../../../activator/core/probes.ts";
import { isValidRequestId } from "../../../../activator/core/request-id.ts";
import { createRandom } from "../../../../common/random.ts";

const INDEX = indexRoutes({
  generation: 1,
  routes: [
    {
      host: "Echo.default.localhost",
      namespace: "default",
      service: "echo",
      targets: [
        { revision: "echo-1", percent: 90 },
        { revision: "echo-2", percent: 10 },
      ],
    },
    { host: "empty.default.localhost", namespace: "default", service: "empty", targets: [] },
  ],
});

describe("bareHost", () => {
  const rows = [
    ["Echo.Default.localhost:8080", "echo.default.localhost"],
    ["echo.default.localhost.", "echo.default.localhost"],
    ["[::1]:80", "[::1]"],
    ["[::1]", "[::1]"],
    ["echo", "echo"],
    ["", ""],
  ] as const;
  for (const [host, name] of rows) {
    it(`reads "${host}" as "${name}"`, () => expect(bareHost(host)).toBe(name));
  }
});

describe("nameByRoute", () => {
  it("splits by the shares of the route", () => {
    const random = createRandom(7);
    let second = 0;
    for (let n = 0; n < 10_000; n += 1) {
      const naming = nameByRoute(INDEX, "echo.default.localhost:80", random());
      if (naming.kind === "named" && naming.revision === "default/echo-2") second += 1;
    }
    expect(second).toBeGreaterThan(900);
    expect(second).toBeLessThan(1_100);
  });
  it("gives each revision exactly its percents of all draws, and the same draw the same one", () => {
    const split = (percents: readonly number[]): number[] => {
      const targets = percents.map((percent, n) => ({ revision: `r${n}`, percent }));
      const route = { host: "x", namespace: "n", service: "x", targets };
      const index = indexRoutes({ generation: 1, routes: [route] });
      const counts = percents.map(() => 0);
      for (let hundredth = 0; hundredth < 100; hundredth += 1) {
        const draw = (hundredth + 0.5) / 100;
        const [naming, again] = [nameByRoute(index, "x", draw), nameByRoute(index, "x", draw)];
        expect(again).toEqual(naming);
        const at = naming.kind === "named" ? Number(naming.revision.slice("n/r".length)) : -1;
        counts[at] = (counts[at] ?? 0) + 1;
      }
      return counts;
    };
    const rows = [
      [100],
      [0, 100],
      [100, 0],
      [1, 99],
      [33, 33, 34],
      [7, 0, 29, 1, 63],
      Array.from({ length: 100 }, () => 1),
    ];
    for (const percents of rows) expect(split(percents)).toEqual(percents);
  });
  it("takes the last share at the very end of the draw", () => {
    const naming = nameByRoute(INDEX, "echo.default.localhost", 1 - Number.EPSILON / 2);
    expect(naming).toEqual({ kind: "named", revision: "default/echo-2" });
  });
  it("knows no unknown host, and no route without revisions", () => {
    expect(nameByRoute(INDEX, "other", 0).kind).toBe("unknown");
    expect(nameByRoute(INDEX, "empty.default.localhost", 0).kind).toBe("unknown");
  });
});

describe("nameByCluster", () => {
  const rows: readonly [namespace: string, revision: string, host: string, name: string][] = [
    ["ns", "rev", "anything", "ns/rev"],
    ["", "", "rev.ns.svc.cluster.local:80", "ns/rev"],
    ["ns", "", "rev.other.svc.cluster.local", "other/rev"],
    ["", "", "rev.ns.svc.example.org", ""],
    ["", "", "rev.ns", ""],
    ["", "", ".ns.svc.cluster.local", ""],
  ];
  for (const [knativeNamespace, knativeRevision, host, name] of rows) {
    it(`${knativeNamespace}/${knativeRevision} at ${host} is "${name}"`, () => {
      const naming = nameByCluster({ host, knativeNamespace, knativeRevision }, "cluster.local");
      expect(naming.kind === "named" ? naming.revision : "").toBe(name);
    });
  }
  it("answers with the words of stock Knative", () => {
    const request = { host: "x", knativeNamespace: "", knativeRevision: "" };
    expect(nameByCluster(request, "cluster.local")).toEqual({
      kind: "unknown",
      message: 'Error getting active endpoint: revision.serving.knative.dev "" not found',
    });
  });
});

describe("answerProbe", () => {
  const none = { userAgent: "curl/8", kubeletProbe: "", networkProbe: "", networkHash: "" };
  const rows = [
    ["traffic", {}, "", null],
    ["the kubelet, by its agent", { userAgent: "kube-probe/1.34" }, "", [200, ""]],
    ["the kubelet, by its header", { kubeletProbe: "x" }, "", [200, ""]],
    [
      "the kubelet during a stop",
      { userAgent: "kube-probe/1.34" },
      "stopping",
      [500, "stopping\n"],
    ],
    ["the ingress", { networkProbe: "probe", networkHash: "h" }, "", [200, ""]],
    [
      "the ingress during a stop",
      { networkProbe: "probe", networkHash: "h" },
      "stopping",
      [200, ""],
    ],
    [
      "the ingress without a hash",
      { networkProbe: "probe" },
      "",
      [400, 'a probe request must contain a non-empty "K-Network-Hash" header\n'],
    ],
    ["a component", { networkProbe: "activator" }, "", [200, "activator"]],
    [
      "an unknown probe",
      { networkProbe: "queue" },
      "",
      [400, 'unexpected probe header value: "queue"\n'],
    ],
  ] as const;
  for (const [name, headers, unhealthy, expected] of rows) {
    it(name, () => {
      const answer = answerProbe({ ...none, ...headers }, unhealthy);
      expect(answer === null ? null : [answer.status, answer.body]).toEqual(expected);
    });
  }
  it("gives the ingress its hash back", () => {
    const probe = { ...none, networkProbe: "probe", networkHash: "abc" };
    expect(answerProbe(probe, "")?.headers).toEqual(["k-network-hash", "abc"]);
  });
});

describe("isValidRequestId", () => {
  const rows: readonly [id: string, valid: boolean][] = [
    ["0b1c-7", true],
    ["00-4bf9:x/y=+@~._", true],
    ["", false],
    ["a b", false],
    ["a\tb", false],
    ["é", false],
    ["x".repeat(128), true],
    ["x".repeat(129), false],
    ['{"a":1}', false],
  ];
  for (const [id, valid] of rows) {
    it(`${valid ? "keeps" : "replaces"} "${id.slice(0, 20)}"`, () => {
      expect(isValidRequestId(id)).toBe(valid);
    });
  }
});
