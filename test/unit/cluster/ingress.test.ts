/** Knative's Ingress objects as Envoy's routes: the rig's gateway has to treat both systems alike. */
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../cluster/ingress/api.ts";
import type { Endpoints, Ingress, IngressRule, Service } from "../../cluster/ingress/objects.ts";
import { translate } from "../../cluster/ingress/translate.ts";

const SELF = { local: { ip: "198.18.0.2", port: 8081 } };

function meta(name: string): KubeObject["metadata"] {
  return { name, namespace: "default", resourceVersion: "1" };
}

function world(rules: readonly IngressRule[]): Parameters<typeof translate>[0] {
  const ingress: Ingress = { metadata: meta("hello"), spec: { rules } };
  const services: readonly Service[] = [
    { metadata: meta("one"), spec: { ports: [{ name: "http", port: 80 }] } },
    { metadata: meta("grpc"), spec: { ports: [{ name: "http2", port: 81 }] } },
    { metadata: meta("other"), spec: { type: "ExternalName" } },
  ];
  const ports = [
    { name: "http", port: 8012 },
    { name: "https", port: 8112 },
  ];
  const endpoints: Endpoints = {
    metadata: meta("one"),
    subsets: [{ addresses: [{ ip: "198.18.128.7" }], ports }],
  };
  const byName = <T extends KubeObject>(all: readonly T[]): ReadonlyMap<string, T> =>
    new Map(all.map((one) => [`default/${one.metadata.name}`, one]));
  return {
    ingresses: byName([ingress]),
    services: byName(services),
    endpoints: byName([endpoints]),
  };
}

const split = (serviceName: string, servicePort: number, percent = 100) => ({
  serviceName,
  servicePort,
  percent,
  serviceNamespace: "default",
});

const rule = (paths: NonNullable<IngressRule["http"]>["paths"], visibility = "ExternalIP") => ({
  hosts: ["hello.default.localhost"],
  visibility: visibility as "ExternalIP" | "ClusterLocal",
  http: { paths },
});

describe("the rig's ingress", () => {
  it("leads to the addresses behind the named port of the public Service", () => {
    const { upstreams } = translate(world([rule([{ splits: [split("one", 80)] }])]), SELF);
    expect(upstreams).toEqual([
      {
        name: "default.one.80",
        http2: false,
        addresses: [{ ip: "198.18.128.7", port: 8012 }],
      },
    ]);
  });

  it("speaks HTTP/2 to a port of that name, which has no address yet", () => {
    const { upstreams } = translate(world([rule([{ splits: [split("grpc", 81)] }])]), SELF);
    expect(upstreams).toEqual([{ name: "default.grpc.81", http2: true, addresses: [] }]);
  });

  it("takes a name for another host back through itself", () => {
    const { upstreams } = translate(world([rule([{ splits: [split("other", 80)] }])]), SELF);
    expect(upstreams[0]?.addresses).toEqual([SELF.local]);
  });

  it("keeps rules of the cluster from the world, and shows all of them to the cluster", () => {
    const rules = [rule([{ splits: [split("one", 80)] }], "ClusterLocal")];
    const { external, local } = translate(world(rules), SELF);
    expect(external).toHaveLength(0);
    expect(local).toHaveLength(1);
  });

  it("tries a path with a header match before one without", () => {
    const tagged = {
      headers: { "Knative-Serving-Tag": { exact: "next" } },
      splits: [split("grpc", 81)],
    };
    const { external } = translate(world([rule([{ splits: [split("one", 80)] }, tagged])]), SELF);
    const [host] = external as readonly { routes: readonly { match: { headers: unknown[] } }[] }[];
    expect(host?.routes.map(({ match }) => match.headers.length)).toEqual([1, 0]);
  });

  it("shares traffic by percentage and names the revision to the activator", () => {
    const header = { appendHeaders: { "Knative-Serving-Revision": "one" } };
    const splits = [{ ...split("one", 80, 70), ...header }, split("grpc", 81, 30)];
    const { external } = translate(world([rule([{ splits }])]), SELF);
    expect(JSON.stringify(external)).toContain('"weight":70');
    expect(JSON.stringify(external)).toContain('{"key":"Knative-Serving-Revision","value":"one"}');
  });
});
