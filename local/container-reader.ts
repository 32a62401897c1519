/** Reads the one container of a service: image, command, environment, port, probes. */
import type { FieldReader, YamlMap } from "./field-reader.ts";
import { isMap } from "./field-reader.ts";
import { DEFAULT_READINESS, readProbe } from "./probe-reader.ts";
import { parseQuantity } from "../common/quantity.ts";
import { namesGpu } from "../common/contracts/resources.ts";
import type { ContainerSpec, Probe } from "./service-types.ts";

const DEFAULT_PORT = 8080;
const CONTAINERS = "spec.template.spec.containers";
/** Ports of the sidecar, which shares the pod's address with the container. */
const RESERVED_PORTS: ReadonlySet<number> = new Set([8008, 8012, 8013, 8022, 9090, 9091]);
const PORT_NAMES: ReadonlySet<string> = new Set(["", "http1", "h2c"]);
const RESERVED_ENV: ReadonlySet<string> = new Set([
  "PORT",
  "K_SERVICE",
  "K_CONFIGURATION",
  "K_REVISION",
]);

/** `hostEnv` answers for `valueFrom`: a Secret of the cluster is a variable of the same name here. */
export function readContainer(
  reader: FieldReader,
  podSpec: YamlMap,
  hostEnv: Readonly<Record<string, string | undefined>>,
): ContainerSpec | null {
  const containers = reader.list(podSpec, "containers", CONTAINERS);
  if (containers.length === 0) {
    reader.missing(CONTAINERS);
    return null;
  }
  if (containers.length > 1) {
    reader.fault(
      `local mode runs one container per pod, got ${containers.length}`,
      CONTAINERS,
      "run the other containers beside the platform, or keep a file for local use",
    );
  }
  const path = `${CONTAINERS}[0]`;
  const container = containers[0];
  if (!isMap(container)) {
    reader.invalid(container, path, "must be a map");
    return null;
  }
  return readFields(reader, container, { path, hostEnv });
}

interface Place {
  readonly path: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
}

function readFields(reader: FieldReader, container: YamlMap, place: Place): ContainerSpec {
  const { path } = place;
  const image = reader.text(container, "image", `${path}.image`);
  if (image === "") reader.missing(`${path}.image`);
  const { containerPort, protocol } = readPorts(reader, container, path);
  const probe = (key: string): Probe | null => {
    const read = readProbe(reader, container, key, `${path}.${key}`);
    return read === null ? null : withUserPort(read, containerPort);
  };
  return {
    name: reader.text(container, "name", `${path}.name`) || "user-container",
    image,
    command: reader.texts(container, "command", `${path}.command`),
    args: reader.texts(container, "args", `${path}.args`),
    workingDir: reader.text(container, "workingDir", `${path}.workingDir`),
    env: readEnv(reader, container, place),
    containerPort,
    protocol,
    readiness: probe("readinessProbe") ?? DEFAULT_READINESS,
    startup: probe("startupProbe"),
    liveness: probe("livenessProbe"),
    ...readResources(reader, container, path),
  };
}

/** A probe of the container's port asks the user port, which each local pod has its own of. */
function withUserPort(probe: Probe, containerPort: number): Probe {
  const { handler } = probe;
  if (handler.kind === "http" && handler.http.port === containerPort) {
    return { ...probe, handler: { ...handler, http: { ...handler.http, port: 0 } } };
  }
  if ((handler.kind === "tcp" || handler.kind === "grpc") && handler.port === containerPort) {
    return { ...probe, handler: { ...handler, port: 0 } };
  }
  return probe;
}

function readPorts(
  reader: FieldReader,
  container: YamlMap,
  path: string,
): Pick<ContainerSpec, "containerPort" | "protocol"> {
  const ports = reader.list(container, "ports", `${path}.ports`);
  if (ports.length > 1) {
    reader.fault(
      "more than one container port is set",
      `${path}.ports`,
      "only a single port is allowed",
    );
  }
  const port = ports[0];
  if (!isMap(port)) return { containerPort: DEFAULT_PORT, protocol: "http1" };
  const limits = { key: "containerPort", min: 1, max: 65_535, fallback: DEFAULT_PORT };
  const containerPort = reader.integer(port, `${path}.ports[0].containerPort`, limits);
  if (RESERVED_PORTS.has(containerPort)) {
    const details = "8008, 8012, 8013, 8022, 9090 and 9091 belong to the queue-proxy";
    reader.invalid(containerPort, `${path}.ports[0].containerPort`, details);
  }
  const name = reader.text(port, "name", `${path}.ports[0].name`);
  if (!PORT_NAMES.has(name)) {
    const details = "port name must be empty, http1 or h2c";
    reader.fault(`Port name ${name} is not allowed`, `${path}.ports[0].name`, details);
  }
  return { containerPort, protocol: name === "h2c" ? "h2c" : "http1" };
}

function readEnv(
  reader: FieldReader,
  container: YamlMap,
  place: Place,
): Readonly<Record<string, string>> {
  const result: Record<string, string> = {};
  for (const [index, entry] of reader.list(container, "env", `${place.path}.env`).entries()) {
    const path = `${place.path}.env[${index}]`;
    if (!isMap(entry)) {
      reader.invalid(entry, path, "must be a map with name and value");
      continue;
    }
    const name = reader.text(entry, "name", `${path}.name`);
    if (name === "") reader.missing(`${path}.name`);
    else if (RESERVED_ENV.has(name)) {
      reader.fault(`"${name}" is a reserved environment variable`, `${path}.name`);
    }
    const value = entry["valueFrom"] === undefined ? undefined : place.hostEnv[name];
    if (entry["valueFrom"] !== undefined && value === undefined) {
      const details = `this machine has no Secrets or ConfigMaps; export ${name} before the start`;
      reader.fault("valueFrom cannot be resolved in local mode", `${path}.valueFrom`, details);
    }
    const text = value ?? reader.text(entry, "value", `${path}.value`);
    // No process can be given such a variable; it would fail at each start instead of here.
    if (`${name}${text}`.includes("\0")) reader.fault("must not contain a NUL character", path);
    result[name] = text;
  }
  return result;
}

function readResources(
  reader: FieldReader,
  container: YamlMap,
  path: string,
): Pick<ContainerSpec, "wantsGpu" | "cpuCores" | "memoryBytes"> {
  const resources = reader.map(container, "resources", `${path}.resources`);
  const limits = reader.map(resources, "limits", `${path}.resources.limits`);
  const requests = reader.map(resources, "requests", `${path}.resources.requests`);
  // As Kubernetes defaults it: what has a limit and no request asks for its limit.
  const asked: YamlMap = { ...limits, ...requests };
  const quantity = (name: string): number | null => {
    const value = asked[name];
    if (value === undefined) return null;
    const parsed = parseQuantity(value);
    if (parsed === null) reader.invalid(value, `${path}.resources.requests.${name}`);
    return parsed;
  };
  return {
    wantsGpu: namesGpu(Object.keys(asked)),
    cpuCores: quantity("cpu"),
    memoryBytes: quantity("memory"),
  };
}
