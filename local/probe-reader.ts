/** Reads the probes of a container: `readinessProbe`, `startupProbe`, `livenessProbe`. */
import { impossible } from "../common/exhaustive.ts";
import type { FieldReader, YamlMap } from "./field-reader.ts";
import { isMap } from "./field-reader.ts";
import type { Probe, ProbeHandler } from "./service-types.ts";

const HANDLERS = ["httpGet", "tcpSocket", "grpc", "exec"] as const;
const MAX_SECONDS = 86_400;

export const DEFAULT_READINESS: Probe = {
  handler: { kind: "tcp", port: 0 },
  initialDelaySeconds: 0,
  periodSeconds: 0,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

/** The probe under `key` of the container, `null` when the file names none. */
export function readProbe(
  reader: FieldReader,
  container: YamlMap,
  key: string,
  path: string,
): Probe | null {
  const value = container[key];
  if (value === undefined || value === null) return null;
  if (!isMap(value)) {
    reader.invalid(value, path, "must be a map");
    return null;
  }
  const seconds = (name: string, min: number, fallback: number): number =>
    reader.integer(value, `${path}.${name}`, { key: name, min, max: MAX_SECONDS, fallback });
  return {
    handler: readHandler(reader, value, path),
    initialDelaySeconds: seconds("initialDelaySeconds", 0, 0),
    periodSeconds: seconds("periodSeconds", 0, 0),
    timeoutSeconds: seconds("timeoutSeconds", 0, 1),
    successThreshold: seconds("successThreshold", 1, 1),
    failureThreshold: seconds("failureThreshold", 0, 3),
  };
}

function readHandler(reader: FieldReader, probe: YamlMap, path: string): ProbeHandler {
  const named = HANDLERS.filter((name) => probe[name] !== undefined);
  if (named.length > 1) {
    const paths = named.map((name) => `${path}.${name}`).join(", ");
    reader.fault("expected exactly one, got both", paths);
  }
  const first = named[0];
  switch (first) {
    case "httpGet":
      return readHttpGet(reader, reader.map(probe, "httpGet", `${path}.httpGet`), path);
    case "grpc": {
      const grpc = reader.map(probe, "grpc", `${path}.grpc`);
      const service = reader.text(grpc, "service", `${path}.grpc.service`);
      return { kind: "grpc", port: readPort(reader, grpc, `${path}.grpc`), service };
    }
    case "exec": {
      const exec = reader.map(probe, "exec", `${path}.exec`);
      const command = reader.texts(exec, "command", `${path}.exec.command`);
      if (command.length === 0) reader.missing(`${path}.exec.command`);
      return { kind: "exec", command };
    }
    case "tcpSocket": {
      const tcp = reader.map(probe, "tcpSocket", `${path}.tcpSocket`);
      return { kind: "tcp", port: readPort(reader, tcp, `${path}.tcpSocket`) };
    }
    case undefined:
      return { kind: "tcp", port: 0 };
    default:
      return impossible(first);
  }
}

function readHttpGet(reader: FieldReader, get: YamlMap, probePath: string): ProbeHandler {
  const path = `${probePath}.httpGet`;
  const headers = reader.list(get, "httpHeaders", `${path}.httpHeaders`).flatMap((entry) => {
    if (!isMap(entry)) return [];
    return [
      {
        name: reader.text(entry, "name", `${path}.httpHeaders`),
        value: reader.text(entry, "value", `${path}.httpHeaders`),
      },
    ];
  });
  const scheme = reader.text(get, "scheme", `${path}.scheme`) || "HTTP";
  if (scheme !== "HTTP" && scheme !== "HTTPS") reader.invalid(scheme, `${path}.scheme`);
  return {
    kind: "http",
    http: {
      path: reader.text(get, "path", `${path}.path`) || "/",
      port: readPort(reader, get, path),
      scheme: scheme === "HTTPS" ? "HTTPS" : "HTTP",
      headers,
    },
  };
}

/** A port by number; the name of the container's port, or none, means the user port. */
function readPort(reader: FieldReader, parent: YamlMap, path: string): number {
  const value = parent["port"];
  if (value === undefined || typeof value === "string") return 0;
  const limits = { key: "port", min: 0, max: 65_535, fallback: 0 };
  return reader.integer(parent, `${path}.port`, limits);
}
