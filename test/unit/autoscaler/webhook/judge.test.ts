/** What the webhook says of objects: refusals with fields, warnings, defaults, and silence. */
import { describe, expect, it } from "vitest";
import { STOCK_DEFAULTS } from "../../../../autoscaler/core/settings/defaults.ts";
import { readClusterDefaults } from "../../../../autoscaler/core/settings/config-maps.ts";
import { defaultsPatch, judge } from "../../../../autoscaler/webhook/judge.ts";
import type { ClusterRules, JudgedObject } from "../../../../autoscaler/webhook/judge.ts";
import {
  defaultingReview,
  parseReview,
  validationReview,
} from "../../../../autoscaler/webhook/review.ts";

const OURS = "scaler.pilotlight.dev";
const STOCK = "kpa.autoscaling.knative.dev";
const CLASS = "autoscaling.knative.dev/class";
const RULES: ClusterRules = {
  defaults: { ...STOCK_DEFAULTS, containerConcurrency: null },
  defaultClass: STOCK,
};

interface Given {
  readonly annotations?: Record<string, string>;
  readonly own?: Record<string, string>;
  readonly spec?: object;
  readonly kind?: string;
  readonly className?: string;
}

function object(given: Given = {}): JudgedObject {
  const { kind = "Service", className = OURS } = given;
  const annotations = { ...(className === "" ? {} : { [CLASS]: className }), ...given.annotations };
  const spec = { containers: [{ name: "c" }], ...given.spec };
  if (kind === "Revision") return { kind, metadata: { annotations }, spec };
  const template = { metadata: { annotations }, spec };
  return { kind, metadata: { annotations: given.own ?? {} }, spec: { template } };
}

const errorsOf = (given: Given): readonly string[] => judge(object(given), null, RULES).errors;
const key = (name: string): string => `autoscaling.knative.dev/${name}`;

describe("the judgement", () => {
  it.each([{ kind: "Service" }, { kind: "Configuration" }, { kind: "Revision" }])(
    "names every fault of a $kind at once",
    ({ kind }) => {
      const annotations = {
        [key("min-scale")]: "3",
        [key("max-scale")]: "2",
        [key("window")]: "5s",
      };
      const errors = errorsOf({ kind, annotations, spec: { containerConcurrency: 1_001 } });
      expect(errors.join("\n")).toContain("max-scale=2 is less than min-scale=3");
      expect(errors.join("\n")).toContain(
        "expected 6s <= 5s <= 1h0m0s: autoscaling.knative.dev/window",
      );
      expect(errors.join("\n")).toContain(
        "expected 0 <= 1001 <= 1000: spec.template.spec.containerConcurrency",
      );
    },
  );

  it.each([
    { name: "of another class", given: { className: STOCK } },
    { name: "of the default class, which is another", given: { className: "" } },
  ])("says nothing of an object $name", ({ given }) => {
    const bad = {
      ...given,
      annotations: { [key("window")]: "1s", "pilotlight.dev/cooldown": "x" },
    };
    expect(judge(object(bad), null, RULES)).toEqual({ errors: [], warnings: [] });
    expect(defaultsPatch(object(bad), RULES)).toEqual([]);
  });

  it("judges what names no class where ours is the default", () => {
    const rules = { ...RULES, defaultClass: OURS };
    const bad = object({ className: "", annotations: { [key("window")]: "1s" } });
    expect(judge(bad, null, rules).errors).toHaveLength(1);
  });

  it("warns of unknown keys with the nearest, on the Service as well", () => {
    const { errors, warnings } = judge(
      object({
        annotations: { "pilotlight.dev/cool-down": "3s" },
        own: { "pilotlight.dev/retry": "never" },
      }),
      null,
      RULES,
    );
    expect(errors).toEqual([]);
    expect(warnings.join("\n")).toContain("did you mean cooldown?");
    expect(warnings.join("\n")).toContain("pilotlight.dev/retry has no effect on the Service");
  });

  it("refuses a live key of a Service that makes no sense", () => {
    expect(errorsOf({ own: { "pilotlight.dev/cooldown": "25h" } })).toEqual([
      "expected 0s <= 25h0m0s <= 24h0m0s: pilotlight.dev/cooldown",
    ]);
  });

  it("lets a bad object go that was let in before, as long as nothing of it changes", () => {
    const bad = { annotations: { [key("window")]: "1s" } };
    const labelled = { ...object(bad), metadata: { annotations: { "example.dev/x": "1" } } };
    expect(judge(labelled, object(bad), RULES).errors).toEqual([]);
    const changed = object({ annotations: { [key("window")]: "2s" } });
    expect(judge(changed, object(bad), RULES).errors).toHaveLength(1);
    const dying = { ...changed, metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(judge(dying, object(bad), RULES).errors).toEqual([]);
  });

  it.each([
    {},
    { spec: {} },
    { spec: { template: {} } },
    { spec: { template: { metadata: null, spec: null } } },
  ])("bears an object that has next to nothing: %j", (empty) => {
    const rules = { ...RULES, defaultClass: OURS };
    expect(judge({ kind: "Service", ...empty } as JudgedObject, null, rules).errors).toEqual([]);
    expect(defaultsPatch({ kind: "Service", ...empty } as JudgedObject, rules)).toEqual([]);
  });
});

describe("the default of containerConcurrency", () => {
  const gpu = { containers: [{ resources: { limits: { "nvidia.com/gpu": "1" } } }] };
  const path = "/spec/template/spec/containerConcurrency";

  it.each([
    { name: "a GPU", spec: gpu, value: 1 },
    { name: "no GPU", spec: {}, value: 100 },
  ])("is $value for a pod with $name", ({ spec, value }) => {
    expect(defaultsPatch(object({ spec }), RULES)).toEqual([{ op: "add", path, value }]);
  });

  it("is the operator's where config-defaults names one", () => {
    const rules = { ...RULES, defaults: { ...RULES.defaults, containerConcurrency: 7 } };
    expect(defaultsPatch(object({ spec: gpu }), rules)).toEqual([{ op: "add", path, value: 7 }]);
  });

  it.each([0, 1, 50])("leaves %i, which the owner wrote, alone", (containerConcurrency) => {
    expect(defaultsPatch(object({ spec: { ...gpu, containerConcurrency } }), RULES)).toEqual([]);
  });
});

describe("the review", () => {
  const request = { uid: "u-1", kind: { kind: "Service" }, operation: "CREATE" };

  it("refuses in the form of the stock webhook", () => {
    const bad = object({ annotations: { [key("window")]: "1s" } });
    expect(validationReview({ ...request, object: bad }, RULES)).toEqual({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: {
        uid: "u-1",
        allowed: false,
        status: {
          code: 400,
          reason: "BadRequest",
          message: "validation failed: expected 6s <= 1s <= 1h0m0s: autoscaling.knative.dev/window",
        },
      },
    });
  });

  it("allows with warnings, short ones and not too many", () => {
    const annotations = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`pilotlight.dev/${"x".repeat(50)}${index}`, "1"]),
    );
    const { response } = validationReview({ ...request, object: object({ annotations }) }, RULES);
    expect(response.allowed).toBe(true);
    expect(response.warnings).toHaveLength(12);
    for (const warning of response.warnings ?? []) expect(warning.length).toBeLessThanOrEqual(256);
  });

  it("carries defaults as a patch, and none where there is nothing to say", () => {
    const { response } = defaultingReview({ ...request, object: object() }, RULES);
    expect(response).toMatchObject({ allowed: true, patchType: "JSONPatch" });
    expect(JSON.parse(Buffer.from(response.patch ?? "", "base64").toString())).toHaveLength(1);
    const written = object({ spec: { containerConcurrency: 2 } });
    expect(defaultingReview({ ...request, object: written }, RULES).response).toEqual({
      uid: "u-1",
      allowed: true,
    });
  });

  it("is not made of what is none", () => {
    for (const text of ["", "[]", "null", '{"request":{}}', "{"])
      expect(parseReview(text)).toBeNull();
    expect(parseReview('{"request":{"uid":"x"}}')).toEqual({ uid: "x" });
  });
});

describe("the compute tier", () => {
  const tier = "pilotlight.dev/compute-tier";
  const label = {
    key: "karpenter.sh/capacity-type",
    interruptible: "spot",
    protected: "on-demand",
  };
  const labelled: ClusterRules = { ...RULES, defaults: { ...RULES.defaults, tierLabel: label } };
  const spec = { containerConcurrency: 1 };
  const expression = (value: string) => ({ key: label.key, operator: "In", values: [value] });
  const affinityIn = (steps: ReturnType<typeof defaultsPatch>): unknown =>
    steps.find(({ path }) => path === "/spec/template/spec/affinity")?.value;

  it("of protected pods names their nodes, and keeps others from moving them", () => {
    const steps = defaultsPatch(object({ spec, annotations: { [tier]: "protected" } }), labelled);
    expect(steps.map(({ path, value }) => [path, value]).slice(0, 2)).toEqual([
      ["/spec/template/metadata/annotations/karpenter.sh~1do-not-disrupt", "true"],
      [
        "/spec/template/metadata/annotations/cluster-autoscaler.kubernetes.io~1safe-to-evict",
        "false",
      ],
    ]);
    expect(affinityIn(steps)).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [expression("on-demand")] }],
        },
      },
    });
  });

  it("narrows each alternative that the owner gave, and leaves the rest of the affinity", () => {
    const zone = { key: "zone", operator: "In", values: ["a"] };
    const affinity = {
      podAntiAffinity: { kept: true },
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [zone] },
            { matchExpressions: [expression("on-demand")] },
          ],
        },
      },
    };
    const given = { spec: { ...spec, affinity }, annotations: { [tier]: "protected" } };
    const narrowed = affinityIn(defaultsPatch(object(given), labelled));
    expect(narrowed).toEqual({
      podAntiAffinity: { kept: true },
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [zone, expression("on-demand")] },
            { matchExpressions: [expression("on-demand")] },
          ],
        },
      },
    });
    // What it wrote needs nothing more, so that applying twice changes nothing.
    const again = { spec: { ...spec, affinity: narrowed }, annotations: given.annotations };
    expect(affinityIn(defaultsPatch(object(again), labelled))).toBeUndefined();
  });

  it("of interruptible pods prefers nodes that may be taken back, only where it is written", () => {
    const written = object({ spec, annotations: { [tier]: "interruptible" } });
    const preference = { matchExpressions: [expression("spot")] };
    expect(affinityIn(defaultsPatch(written, labelled))).toEqual({
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }],
      },
    });
    expect(defaultsPatch(object({ spec }), labelled)).toEqual([]);
    expect(defaultsPatch(written, RULES)).toEqual([]);
  });

  it("warns of a promise that the cluster cannot keep, and leaves what the owner wrote", () => {
    const kept = "karpenter.sh/do-not-disrupt";
    const given = object({ spec, annotations: { [tier]: "protected", [kept]: "false" } });
    expect(judge(given, null, RULES).warnings.join()).toContain("no pilotlight.dev/tier-label");
    expect(judge(given, null, labelled).warnings).toEqual([]);
    expect(defaultsPatch(given, RULES).map(({ path }) => path)).toEqual([
      "/spec/template/metadata/annotations/cluster-autoscaler.kubernetes.io~1safe-to-evict",
    ]);
  });

  it.each(["spot", "=a,b", "label=a", "label=a,b,c", "la bel=a,b"])(
    "is not told by the label %j",
    (text) => {
      const { errors } = readClusterDefaults(
        { defaults: { "pilotlight.dev/tier-label": text } },
        STOCK_DEFAULTS,
      );
      expect(errors.join()).toContain("expected KEY=INTERRUPTIBLE,PROTECTED");
    },
  );

  it("is told by a label and its two values", () => {
    const text = "karpenter.sh/capacity-type=spot,on-demand";
    const maps = { defaults: { "pilotlight.dev/tier-label": text } };
    expect(readClusterDefaults(maps, STOCK_DEFAULTS).defaults.tierLabel).toEqual(label);
  });
});
