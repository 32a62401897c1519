/** Manifests against the code that they start, and against what stock Knative selects. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readActivatorConfig } from "../../../activator/config.ts";
import { readAutoscalerConfig } from "../../../autoscaler/config.ts";
import { readClusterDefaults } from "../../../autoscaler/core/settings/config-maps.ts";
import { PLATFORM_DEFAULTS, STOCK_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import { readWebhookConfig } from "../../../autoscaler/webhook/config.ts";
import { readDashboardConfig } from "../../../dashboard/cluster/config.ts";
import { PUSH_PORT, TOKEN_AUDIENCE } from "../../../common/contracts/push.ts";
import { parseStoreUrl } from "../../../store/address.ts";
import {
  MANIFESTS,
  containerOf,
  filesIn,
  find,
  objectsIn,
  patchesIn,
  podOf,
  readObjects,
  resourcesOf,
} from "../../support/manifest-files.ts";
import type { Container } from "../../support/manifest-files.ts";
import { readPage } from "../docs/tables.ts";

const base = objectsIn("base");
const valkey = objectsIn("components/valkey");
const sidecar = patchesIn("components/sidecar").flatMap((file) =>
  readObjects(join("components/sidecar", file)),
);
const activator = find(base, "Deployment", "pilotlight-activator");
type Env = Readonly<Record<string, string | undefined>>;

/** Names that a reader of an environment asks for. */
function asked(read: (env: Env) => unknown): string[] {
  const names = new Set<string>();
  const env: Env = new Proxy<Record<string, string>>(
    {},
    { get: (_target, name) => void names.add(String(name)) },
  );
  try {
    read(env);
  } catch {
    // What is required is missing; all were asked for.
  }
  return [...names];
}

const namesOf = ({ env = [] }: Container): string[] => env.map(({ name }) => name);

describe("kustomizations", () => {
  it.each(["base", "components/valkey", "components/sidecar", "overlays/monitoring"])(
    "%s leaves no file out",
    (folder) => {
      const unlisted = new Set(["kustomization.yaml", "store-url.yaml"]);
      const files = filesIn(folder).filter((name) => !unlisted.has(name));
      const named = [...resourcesOf(folder), ...patchesIn(folder)];
      expect(files.toSorted()).toEqual(named.filter((name) => !unlisted.has(name)).toSorted());
    },
  );

  it("apply in the order of their numbers", () => {
    expect(resourcesOf("base")).toEqual(resourcesOf("base").toSorted());
  });
});

describe("the activator", () => {
  const container = containerOf(activator, "activator");

  it("is given only variables that it reads", () => {
    // Used by others of the list, or found before the options are read.
    const own = new Set([...asked(readActivatorConfig), "SYSTEM_NAMESPACE", "CLUSTER_DOMAIN"]);
    expect(namesOf(container).filter((name) => !own.has(name))).toEqual([]);
  });

  it("is given everything without which it does not start", () => {
    const given = Object.fromEntries(namesOf(container).map((name) => [name, "set"]));
    expect(() =>
      readActivatorConfig({
        ...given,
        PILOTLIGHT_SYSTEM_INTERNAL_TLS: "Enabled",
        PILOTLIGHT_LOG_LEVEL: "info",
      }),
    ).not.toThrow();
    expect(() => readActivatorConfig({})).toThrow("PILOTLIGHT_STORE_URL");
  });

  it("defines a variable before it is used by another", () => {
    const names = namesOf(container);
    for (const [index, { value = "" }] of (container.env ?? []).entries()) {
      for (const [, used = ""] of value.matchAll(/\$\((\w+)\)/g)) {
        expect(names.slice(0, index), used).toContain(used);
      }
    }
  });

  it("has the ports of its own defaults", () => {
    const config = readActivatorConfig({ PILOTLIGHT_STORE_URL: "redis://localhost" });
    const ports = new Map((container.ports ?? []).map((it) => [it.name, it.containerPort]));
    expect(ports.get("http1")).toBe(config.listen.port);
    expect(ports.get("h2c")).toBe(config.h2cListen?.port);
    expect(ports.get("push")).toBe(config.pushListen.port);
    expect(config.pushListen.port).toBe(PUSH_PORT);
    expect([...ports.values()].toSorted((a, b) => a - b)).toEqual([8012, 8013, 8014, 8112]);
  });

  it("is selected by the stock Service and budget, and by no budget of ours", () => {
    const { labels } = podOf(activator).metadata;
    expect(labels["app"]).toBe("activator");
    // The stock Deployment would adopt pods with this label.
    expect(labels["role"]).toBeUndefined();
    const budgets = [...base, ...valkey].filter(({ kind }) => kind === "PodDisruptionBudget");
    for (const { spec } of budgets) {
      expect(spec?.["selector"]).not.toMatchObject({
        matchLabels: { "pilotlight.dev/part": "activator" },
      });
    }
  });

  it("leaves its number to the object that scales it", () => {
    const scaler = find(base, "HorizontalPodAutoscaler", "pilotlight-activator");
    expect(scaler.spec).toMatchObject({ minReplicas: 2, scaleTargetRef: { kind: "Deployment" } });
    expect(activator.spec?.["replicas"]).toBeUndefined();
  });

  it("may finish the longest request that its maps permit", () => {
    const limit = Number(
      find(sidecar, "ConfigMap", "config-defaults").data?.["max-revision-timeout-seconds"],
    );
    const grace = podOf(activator).spec.terminationGracePeriodSeconds ?? 0;
    expect(limit).toBe(43_200);
    // A wait for a pod comes before it, and the routes notice first.
    expect(grace).toBeGreaterThanOrEqual(limit + 3_600 + 45);
  });
});

describe.each([
  { name: "autoscaler", read: readAutoscalerConfig },
  { name: "webhook", read: readWebhookConfig },
  { name: "dashboard", read: readDashboardConfig },
])("the $name", ({ name, read }) => {
  const workload = find(base, "Deployment", `pilotlight-${name}`);
  const container = containerOf(workload, name);

  it("is given only variables that it reads, and all that it needs", () => {
    expect(namesOf(container).filter((given) => !asked(read).includes(given))).toEqual([]);
    const given = Object.fromEntries(namesOf(container).map((key) => [key, "set"]));
    expect(() => read({ ...given, PILOTLIGHT_LOG_LEVEL: "info" })).not.toThrow();
  });

  it("has the ports of its own defaults", () => {
    const config = read({ PILOTLIGHT_STORE_URL: "redis://localhost" });
    const ports = new Map((container.ports ?? []).map((it) => [it.name, it.containerPort]));
    expect(ports.get("http-metrics")).toBe(config.adminListen.port);
    // The dashboard listens for nobody in the cluster.
    const isOpen = name === "webhook" && "listen" in config;
    const https = isOpen ? config.listen.port : undefined;
    expect(ports.get("https-webhook")).toBe(https);
  });
});

describe("every pod of ours", () => {
  const workloads = [...base, ...valkey].filter(({ kind }) =>
    ["Deployment", "StatefulSet"].includes(kind),
  );
  const containers = workloads.flatMap((workload) => {
    return podOf(workload).spec.containers.map((it) => [
      `${workload.metadata.name} ${it.name}`,
      it,
    ]);
  }) as [string, Container][];

  it.each(containers)("%s is restricted and asks for what it needs", (_name, container) => {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { memory: expect.any(String) },
    });
  });

  it.each(containers)("%s has an image with a tag of its own", (_name, { image }) => {
    const text = ["base", "components/valkey"]
      .map((folder) => readFileSync(join(MANIFESTS, folder, "kustomization.yaml"), "utf8"))
      .join("\n");
    const tag = new RegExp(`- name: ${image}\\n\\s+newTag: (\\S+)`).exec(text)?.[1];
    expect(tag).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it("reaches the store only by a label", () => {
    const clients = workloads.filter((workload) => {
      return podOf(workload).metadata.labels["pilotlight.dev/store-client"] === "true";
    });
    const withUrl = workloads.filter((workload) =>
      podOf(workload).spec.containers.some((it) => namesOf(it).includes("PILOTLIGHT_STORE_URL")),
    );
    expect(clients).toEqual(withUrl);
  });
});

describe("the webhook", () => {
  it("comes before the stock one, and never stands in the way", () => {
    const configurations = base.filter(({ kind }) => kind.endsWith("WebhookConfiguration"));
    expect(configurations).toHaveLength(2);
    for (const configuration of configurations) {
      expect(configuration.metadata.name < "webhook.serving.knative.dev").toBe(true);
      // The type has no field for it.
      const { webhooks } = configuration as unknown as { webhooks: { failurePolicy: string }[] };
      for (const webhook of webhooks) expect(webhook.failurePolicy).toBe("Ignore");
    }
  });
});

describe("stock maps", () => {
  const data = (name: string): Readonly<Record<string, string>> =>
    find(sidecar, "ConfigMap", name).data ?? {};

  it("turn stock defaults into ours, and change nothing that is equal", () => {
    const maps = {
      autoscaler: data("config-autoscaler"),
      defaults: data("config-defaults"),
      deployment: data("config-deployment"),
    };
    const { defaults, errors } = readClusterDefaults(maps, STOCK_DEFAULTS);
    expect(errors).toEqual([]);
    // Written by our webhook per service, since it depends on the card.
    expect({ ...defaults, containerConcurrency: null }).toEqual(PLATFORM_DEFAULTS);
    for (const key of Object.keys(maps.autoscaler)) {
      const { [key]: _left, ...rest } = maps.autoscaler;
      const without = readClusterDefaults({ ...maps, autoscaler: rest }, STOCK_DEFAULTS);
      expect(without.defaults, key).not.toEqual(defaults);
    }
  });

  it("give queue-proxies their proof, their annotations and a share of the processor", () => {
    expect(data("config-deployment")).toMatchObject({
      "queue-sidecar-token-audiences": TOKEN_AUDIENCE,
      "queue-sidecar-cpu-request": "100m",
    });
    expect(data("config-features")["queueproxy.mount-podinfo"]).toBe("Enabled");
  });

  it("are patched in the namespace of the release", () => {
    for (const { metadata } of sidecar) expect(metadata.namespace).toBe("knative-serving");
  });
});

describe("the store", () => {
  const patch = readFileSync(join(MANIFESTS, "components/valkey/store-url.yaml"), "utf8");
  const url = /value: (redis\S+)/.exec(patch)?.[1] ?? "";

  it("is found at the Sentinels that the StatefulSet makes", () => {
    const set = find(valkey, "StatefulSet", "valkey");
    const names = Array.from(
      { length: Number(set.spec?.["replicas"]) },
      (_, index) => `valkey-${index}.${String(set.spec?.["serviceName"])}`,
    );
    expect(parseStoreUrl(url)).toMatchObject({
      kind: "sentinel",
      sentinels: names.map((host) => ({ host, port: 26_379 })),
      name: "pilotlight",
      username: "pilotlight",
    });
    const script = readFileSync(join(MANIFESTS, "components/valkey/common.sh"), "utf8");
    expect(script).toContain(`PEERS="\${PEERS:-${names.join(" ")}}"`);
    expect(script).toContain("NAME=pilotlight\n");
  });

  it.each(["common.sh", "leave.sh", "start-valkey.sh", "start-sentinel.sh"])(
    "%s is a valid script",
    (file) => {
      execFileSync("sh", ["-n", join(MANIFESTS, "components/valkey", file)]);
    },
  );
});

describe("monitoring", () => {
  const files = ["alerts.yaml", "pilotlight.json"].map((file) =>
    readFileSync(join(MANIFESTS, "overlays/monitoring", file), "utf8"),
  );

  it.each(files)("names only metrics that there are", (text) => {
    const page = readPage("metrics.md");
    const names = [...text.matchAll(/\b(?:pilotlight|nodejs)_[a-z0-9_]+/g)].map(([name]) => name);
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) {
      const known =
        page.includes(`\`${name}\``) ||
        page.includes(`\`${name.replace(/_(?:bucket|sum|count)$/, "")}\``);
      expect(known, name).toBe(true);
    }
  });

  it("scrapes ports that are there", () => {
    const ports = new Set(
      base
        .filter(({ kind }) => kind === "Service")
        .flatMap(({ spec }) => (spec?.["ports"] ?? []) as { name: string }[])
        .map(({ name }) => name),
    );
    const text = readFileSync(join(MANIFESTS, "overlays/monitoring/monitors.yaml"), "utf8");
    const scraped = [...text.matchAll(/port: ([a-z-]+)/g)].map((match) => match[1] ?? "");
    // The queue-proxy's port is the stock controller's.
    expect(scraped.filter((name) => !ports.has(name))).toEqual(["http-usermetric"]);
  });

  it("has a page that says what to do about each alert", () => {
    const page = readFileSync(join(MANIFESTS, "../docs/guides/run-at-night.md"), "utf8");
    const alerts = readObjects("overlays/monitoring/alerts.yaml");
    const names = [...JSON.stringify(alerts).matchAll(/"alert":"(\w+)"/g)].map((match) => match[1]);
    expect(names.length).toBeGreaterThan(8);
    for (const name of names) expect(page).toContain(`\`${name}\``);
  });
});

it("the README names every folder", () => {
  const page = readFileSync(join(MANIFESTS, "README.md"), "utf8");
  for (const [, folder = ""] of page.matchAll(/^\| `([^`]+)` \|/gm)) {
    expect(existsSync(join(MANIFESTS, folder)), folder).toBe(true);
  }
});
