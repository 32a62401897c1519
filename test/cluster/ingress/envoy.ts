/** Envoy's files: a fixed start configuration, and the parts that it reads again when they change. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Configuration, Upstream } from "./translate.ts";

export interface EnvoyPorts {
  readonly address: string;
  readonly external: number;
  readonly local: number;
  readonly admin: number;
}

/** A host that no service can have; its answer is the version of the routes in force. */
export const VERSION_HOST = "version.rig.invalid";

const type = (name: string): string => `type.googleapis.com/envoy.${name}`;
const NO_LIMIT = 2 ** 31 - 1;

/** Writes the start configuration and empty dynamic parts; returns the start file. */
export function writeStart(folder: string, ports: EnvoyPorts): string {
  mkdirSync(join(folder, "eds"), { recursive: true });
  writeClusters(folder, [], "0");
  writeRoutes(folder, { external: [], local: [], upstreams: [] }, "0");
  const file = join(folder, "start.json");
  const listeners = [
    listener("external", ports.address, ports.external, folder),
    listener("local", ports.address, ports.local, folder),
  ];
  const start = {
    node: { id: "gateway", cluster: "gateway" },
    admin: { address: socket(ports.address, ports.admin) },
    dynamic_resources: { cds_config: fromFile(join(folder, "cds.json")) },
    static_resources: { listeners },
  };
  writeFileSync(file, JSON.stringify(start));
  return file;
}

/** The clusters and their endpoints. A route to a cluster that is not there yet answers 503. */
export function writeClusters(
  folder: string,
  upstreams: readonly Upstream[],
  version: string,
): void {
  writeEndpoints(folder, upstreams);
  const clusters = upstreams.map((upstream) => cluster(folder, upstream));
  replace(join(folder, "cds.json"), discovery(version, clusters));
}

export function writeRoutes(
  folder: string,
  { external, local }: Configuration,
  version: string,
): void {
  replace(
    join(folder, "external.json"),
    discovery(version, [routes("external", external, version)]),
  );
  replace(join(folder, "local.json"), discovery(version, [routes("local", local, version)]));
}

/** Endpoints alone, the most frequent change: no cluster is made anew. */
export function writeEndpoints(folder: string, upstreams: readonly Upstream[]): void {
  for (const upstream of upstreams) {
    replace(edsFile(folder, upstream.name), discovery("0", [loadAssignment(upstream)]));
  }
}

/** Moves a new file over the old one, which is what Envoy watches for; equal content moves nothing. */
function replace(file: string, content: object): void {
  const text = JSON.stringify(content);
  try {
    if (readFileSync(file, "utf8") === text) return;
  } catch {
    // Not there yet.
  }
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

const edsFile = (folder: string, name: string): string => join(folder, "eds", `${name}.json`);

const discovery = (version: string, resources: readonly object[]): object => ({
  version_info: version,
  resources,
});

const socket = (address: string, port: number): object => ({
  socket_address: { address, port_value: port },
});

const fromFile = (path: string): object => ({
  resource_api_version: "V3",
  path_config_source: { path },
});

function listener(name: string, address: string, port: number, folder: string): object {
  const manager = {
    "@type": type("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
    stat_prefix: name,
    codec_type: "AUTO",
    use_remote_address: true,
    stream_idle_timeout: "0s",
    request_timeout: "0s",
    http2_protocol_options: {},
    rds: { route_config_name: name, config_source: fromFile(join(folder, `${name}.json`)) },
    http_filters: [
      {
        name: "envoy.filters.http.router",
        typed_config: { "@type": type("extensions.filters.http.router.v3.Router") },
      },
    ],
  };
  const filter = { name: "http", typed_config: manager };
  return { name, address: socket(address, port), filter_chains: [{ filters: [filter] }] };
}

function routes(name: string, hosts: readonly object[], version: string): object {
  const answer = { status: 200, body: { inline_string: version } };
  const own = {
    name: "version",
    domains: [VERSION_HOST],
    routes: [{ match: { prefix: "/" }, direct_response: answer }],
  };
  return {
    "@type": type("config.route.v3.RouteConfiguration"),
    name,
    virtual_hosts: [own, ...hosts],
  };
}

function cluster(folder: string, { name, http2 }: Upstream): object {
  const limits = {
    max_connections: NO_LIMIT,
    max_pending_requests: NO_LIMIT,
    max_requests: NO_LIMIT,
    max_retries: 0,
  };
  const protocol = http2 ? { http2_protocol_options: {} } : { http_protocol_options: {} };
  return {
    "@type": type("config.cluster.v3.Cluster"),
    name,
    type: "EDS",
    connect_timeout: "5s",
    eds_cluster_config: { service_name: name, eds_config: fromFile(edsFile(folder, name)) },
    circuit_breakers: { thresholds: [limits] },
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": type("extensions.upstreams.http.v3.HttpProtocolOptions"),
        explicit_http_config: protocol,
      },
    },
  };
}

function loadAssignment({ name, addresses }: Upstream): object {
  const endpoints = addresses.map(({ ip, port }) => ({ endpoint: { address: socket(ip, port) } }));
  return {
    "@type": type("config.endpoint.v3.ClusterLoadAssignment"),
    cluster_name: name,
    endpoints: [{ lb_endpoints: endpoints }],
  };
}
