/** Knative's Ingress objects as Envoy's configuration: plain values in, plain values out. */
import type { Ingress, IngressPath, IngressRule, Service, Split, World } from "./objects.ts";

export interface Address {
  readonly ip: string;
  readonly port: number;
}

export interface Upstream {
  readonly name: string;
  readonly http2: boolean;
  readonly addresses: readonly Address[];
}

export interface Configuration {
  /** Virtual hosts of the listener that the world reaches, and of the one for the cluster. */
  readonly external: readonly object[];
  readonly local: readonly object[];
  readonly upstreams: readonly Upstream[];
}

/** Where names lead that stand for another host of this gateway. */
export interface Self {
  readonly local: Address;
}

export function translate(world: World, self: Self): Configuration {
  const rules = [...world.ingresses.values()]
    .toSorted((left, right) => nameOf(left).localeCompare(nameOf(right)))
    .flatMap((ingress) =>
      (ingress.spec.rules ?? []).map((rule, index) => ({ ingress, rule, index })),
    );
  const host = ({ ingress, rule, index }: (typeof rules)[number]): object =>
    virtualHost(`${nameOf(ingress)}/${index}`, rule);
  const splits = rules.flatMap(({ rule }) =>
    (rule.http?.paths ?? []).flatMap(({ splits }) => splits),
  );
  const upstreams = new Map(
    splits.map((split) => [clusterOf(split), upstream(split, world, self)]),
  );
  return {
    external: rules.filter(({ rule }) => rule.visibility !== "ClusterLocal").map(host),
    local: rules.map(host),
    upstreams: [...upstreams.values()],
  };
}

function virtualHost(name: string, { hosts, http }: IngressRule): object {
  const paths = (http?.paths ?? []).toSorted(moreExactFirst);
  return {
    name,
    domains: hosts.flatMap((host) => [host, `${host}:*`]),
    routes: paths.map(route),
  };
}

/** A request takes the first route that fits: matched headers first, then the longer path. */
function moreExactFirst(left: IngressPath, right: IngressPath): number {
  const headers = (path: IngressPath): number => Object.keys(path.headers ?? {}).length;
  const length = (path: IngressPath): number => (path.path ?? "").length;
  return headers(right) - headers(left) || length(right) - length(left);
}

function route(path: IngressPath): object {
  const headers = Object.entries(path.headers ?? {});
  return {
    match: {
      prefix: path.path ?? "/",
      headers: headers.map(([name, { exact }]) => ({ name, string_match: { exact } })),
    },
    request_headers_to_add: headersToSet(path.appendHeaders),
    route: {
      timeout: "0s",
      upgrade_configs: [{ upgrade_type: "websocket" }],
      ...(path.rewriteHost === undefined ? {} : { host_rewrite_literal: path.rewriteHost }),
      weighted_clusters: {
        clusters: path.splits.map((split) => ({
          name: clusterOf(split),
          weight: split.percent ?? 100,
          request_headers_to_add: headersToSet(split.appendHeaders),
        })),
      },
    },
  };
}

function headersToSet(headers: Readonly<Record<string, string>> = {}): readonly object[] {
  return Object.entries(headers).map(([key, value]) => ({
    header: { key, value },
    append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
  }));
}

export const clusterOf = ({ serviceNamespace, serviceName, servicePort }: Split): string =>
  `${serviceNamespace}.${serviceName}.${servicePort}`;

function upstream(split: Split, world: World, self: Self): Upstream {
  const key = `${split.serviceNamespace}/${split.serviceName}`;
  const service = world.services.get(key);
  const port = portOf(service, split.servicePort);
  const http2 = port === "http2" || port === "h2c";
  const name = clusterOf(split);
  if (service?.spec.type === "ExternalName") return { name, http2, addresses: [self.local] };
  const subsets = world.endpoints.get(key)?.subsets ?? [];
  const addresses = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const number = ports.find((one) => one.name === port || ports.length === 1)?.port;
    return number === undefined ? [] : addresses.map(({ ip }) => ({ ip, port: number }));
  });
  return { name, http2, addresses };
}

/** The name of a Service's port; that of its Endpoints is the same. */
function portOf(service: Service | undefined, wanted: number | string): string | undefined {
  if (typeof wanted === "string") return wanted;
  return service?.spec.ports?.find(({ port }) => port === wanted)?.name;
}

const nameOf = ({ metadata }: Ingress): string => `${metadata.namespace}/${metadata.name}`;
