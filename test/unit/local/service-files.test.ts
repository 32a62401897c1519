/** Service files: what they become, and that every fault of a file is named at once. */
import { describe, expect, it } from "vitest";
import { formatFinding, parseServiceFile } from "../../../local/service-files.ts";

const read = (text: string, env: Record<string, string> = {}) =>
  parseServiceFile("/srv/app.yaml", text, env);

const service = (name: string, more = "", annotations = ""): string => `
apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: ${name}
spec:
  template:
    metadata:
      annotations:
        pilotlight.dev/local-command: node server.mjs
${annotations}
    spec:
${more}
      containers:
        - image: example.com/${name}
`;

describe("a document whose aliases unfold without end", () => {
  it("is a fault of its own, and takes no other with it", () => {
    const nine = (name: string): string => Array.from({ length: 9 }, () => `*${name}`).join(",");
    const bomb = ["a: &a [x,x,x,x,x,x,x,x,x]"];
    for (const [name, last] of ["ba", "cb", "dc", "ed", "fe", "gf"]) {
      bomb.push(`${name}: &${name} [${nine(last ?? "")}]`);
    }
    const { services, errors } = read(`${bomb.join("\n")}\n---${service("two")}`);
    expect(services.map(({ key }) => key)).toEqual(["default/two"]);
    expect(errors.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^not valid YAML: .*alias/),
    ]);
  });
});

describe("a good file", () => {
  it("gives every service of several documents, with defaults", () => {
    const { services, errors, warnings } = read(`${service("one")}---${service("two")}`);
    expect(errors).toEqual([]);
    expect(warnings).toEqual([]);
    expect(services.map(({ key }) => key)).toEqual(["default/one", "default/two"]);
    expect(services[0]).toMatchObject({
      folder: "/srv",
      traffic: [{ revision: null, percent: 100, tag: "" }],
      template: {
        containerConcurrency: 100,
        timeoutSeconds: 900,
        container: { protocol: "http1", readiness: { handler: { kind: "tcp", port: 0 } } },
      },
    });
  });

  it("gives one slot to a pod that asks for a GPU", () => {
    const { services } = read(`
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: gpu }
spec:
  template:
    spec:
      containers:
        - image: x
          command: [sh]
          resources: { limits: { nvidia.com/gpu: "1" } }
`);
    expect(services[0]?.template).toMatchObject({
      containerConcurrency: 1,
      container: { wantsGpu: true },
    });
  });

  it("reads port, environment and probes; a probe of the container's port asks the user port", () => {
    const { services, errors } = read(
      `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: full, namespace: models }
spec:
  template:
    spec:
      containers:
        - image: x
          ports: [{ name: h2c, containerPort: 9000 }]
          env:
            - { name: MODEL, value: small }
            - { name: TOKEN, valueFrom: { secretKeyRef: { name: s, key: k } } }
          readinessProbe: { httpGet: { path: /ready, port: 9000 }, periodSeconds: 2 }
          startupProbe: { exec: { command: [test, -f, up] } }
          livenessProbe: { httpGet: { port: 7000 } }
`,
      { TOKEN: "from the host" },
    );
    expect(errors).toEqual([]);
    expect(services[0]?.key).toBe("models/full");
    expect(services[0]?.template.container).toMatchObject({
      protocol: "h2c",
      env: { MODEL: "small", TOKEN: "from the host" },
      readiness: { periodSeconds: 2, handler: { kind: "http", http: { path: "/ready", port: 0 } } },
      startup: { handler: { kind: "exec", command: ["test", "-f", "up"] } },
      liveness: { handler: { kind: "http", http: { path: "/", port: 7000 } } },
    });
  });

  it("passes over objects of other kinds with a word", () => {
    const { services, warnings } = read(
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n---${service("one")}`,
    );
    expect(services).toHaveLength(1);
    expect(warnings.map(({ text }) => text)).toEqual([
      "v1 ConfigMap is not a serving.knative.dev/v1 Service: local mode ignores it",
    ]);
  });
});

describe("faults", () => {
  const faultsOf = (text: string): string[] => read(text).errors.map((finding) => finding.text);

  const rows: { name: string; file: string; faults: string[] }[] = [
    {
      name: "no container",
      file: "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: { name: x }\nspec: {}",
      faults: ["missing field(s): spec.template.spec.containers"],
    },
    {
      name: "no name",
      file: service("x").replace("  name: x\n", "  labels: {}\n"),
      faults: ["missing field(s): metadata.name"],
    },
    {
      name: "numbers out of range",
      file: service("x", "      containerConcurrency: 1001\n      timeoutSeconds: 50000"),
      faults: [
        "expected 0 <= 50000 <= 43200: spec.template.spec.timeoutSeconds",
        "expected 0 <= 1001 <= 1000: spec.template.spec.containerConcurrency",
      ],
    },
    {
      name: "several bad annotations",
      file: service(
        "x",
        "",
        `        autoscaling.knative.dev/min-scale: "3"
        autoscaling.knative.dev/max-scale: "2"
        autoscaling.knative.dev/window: 5s
        pilotlight.dev/scaling-buffer: lots
        pilotlight.dev/retry: always`,
      ),
      faults: [
        "max-scale=2 is less than min-scale=3: autoscaling.knative.dev/max-scale, autoscaling.knative.dev/min-scale",
        "expected 6s <= 5s <= 1h0m0s: autoscaling.knative.dev/window",
        "invalid value: lots: pilotlight.dev/scaling-buffer",
        "invalid value: always: pilotlight.dev/retry",
      ],
    },
    {
      name: "traffic that does not add up",
      file: `${service("x")}  traffic:\n    - { latestRevision: true, percent: 40 }\n`,
      faults: ["Traffic targets sum to 40, want 100: spec.traffic"],
    },
    {
      name: "everything wrong in a traffic block",
      file: `${service("x")}  traffic:
    - { revisionName: x-00001, latestRevision: true, percent: 120, tag: a }
    - { latestRevision: false, percent: -1, tag: a }
    - { configurationName: x, percent: 1, tag: Big }
    - { revisionName: x-00001, percent: half, url: http://x }
    - not a map
`,
      faults: [
        'may not set revisionName "x-00001" when latestRevision is true: spec.traffic[0].latestRevision',
        "expected 0 <= 120 <= 100: spec.traffic[0].percent",
        'may not set revisionName "" when latestRevision is false: spec.traffic[1].latestRevision',
        "expected 0 <= -1 <= 100: spec.traffic[1].percent",
        "must not set the field(s): spec.traffic[2].configurationName",
        `not a DNS 1035 label: Big: spec.traffic[2].tag\nlower case letters, digits and '-', starting with a letter, at most 63 characters`,
        "must not set the field(s): spec.traffic[3].url",
        "invalid value: half: spec.traffic[3].percent\nmust be an integer",
        "invalid value: not a map: spec.traffic[4]\nmust be a map",
        "Traffic targets sum to 120, want 100: spec.traffic",
        'Multiple definitions for "a": spec.traffic[0].tag, spec.traffic[1].tag',
      ],
    },
    {
      name: "a revision's name that does not begin with the service's",
      file: service("x").replace("    metadata:\n", "    metadata:\n      name: other-1\n"),
      faults: ['invalid value: other-1: spec.template.metadata.name\nmust have "x-" as its prefix'],
    },
    {
      name: "an annotation that is no string",
      file: service("x", "", "        autoscaling.knative.dev/min-scale: 3"),
      faults: [
        "invalid value: 3: spec.template.metadata.annotations.autoscaling.knative.dev/min-scale\nmust be a string; put it in quotes",
      ],
    },
  ];
  for (const { name, file, faults } of rows) {
    it(`names ${name}`, () => {
      expect(faultsOf(file).map((text) => text.split("\nmust be one of")[0])).toEqual(
        expect.arrayContaining(faults),
      );
      expect(faultsOf(file)).toHaveLength(faults.length);
      expect(read(file).services).toEqual([]);
    });
  }

  it("refuses scaling keys on the Service itself, in the words of stock Knative", () => {
    const file = service("x").replace(
      "  name: x",
      '  name: x\n  annotations: { autoscaling.knative.dev/min-scale: "1" }',
    );
    expect(faultsOf(file)).toEqual([
      'invalid key name "autoscaling.knative.dev/min-scale": metadata.annotations\nautoscaling annotations must be put under "spec.template.metadata.annotations" to work',
    ]);
  });

  it("reports all of them at once and leaves the good service alone", () => {
    const bad = service(
      "bad",
      "      containerConcurrency: -1",
      "        pilotlight.dev/retry: maybe",
    );
    const reading = read(`${bad}---${service("good")}`);
    expect(reading.services.map(({ name }) => name)).toEqual(["good"]);
    expect(reading.faulty).toEqual(["default/bad"]);
    expect(reading.errors.map(({ text }) => text.split("\n")[0])).toEqual([
      "expected 0 <= -1 <= 1000: spec.template.spec.containerConcurrency",
      "invalid value: maybe: pilotlight.dev/retry",
    ]);
  });

  it("names the line of broken YAML and keeps the other documents", () => {
    const reading = read(`${service("good")}---\nkind: [unclosed\n`);
    expect(reading.services.map(({ name }) => name)).toEqual(["good"]);
    expect(reading.errors).toHaveLength(1);
    expect(reading.errors[0]?.text).toMatch(/^not valid YAML: /);
    expect(reading.errors[0]?.line).toBeGreaterThan(15);
  });

  it("names a service that stands twice", () => {
    expect(faultsOf(`${service("x")}---${service("x")}`)).toEqual([
      "service default/x stands twice in this file",
    ]);
  });

  it("says how to give a value that a cluster would take from a Secret", () => {
    const file = `${service("x")}          env: [{ name: KEY, valueFrom: {} }]\n`;
    expect(faultsOf(file)[0]).toContain("export KEY before the start");
  });
});

it("warns about a misspelt key and names the near one", () => {
  const { warnings } = read(service("x", "", '        pilotlight.dev/cool-down: "5s"'));
  expect(warnings.map(({ text }) => text)).toEqual([
    "unknown annotation pilotlight.dev/cool-down, did you mean cooldown?",
  ]);
});

it("prints a finding with its place, details below", () => {
  const finding = { file: "a.yaml", line: 3, service: "default/x", text: "bad\ndo this" };
  expect(formatFinding(finding)).toBe("a.yaml:3: default/x: bad\n    do this");
});
