/**
 * Service files to service definitions. A file may hold several documents; one that is faulty
 * takes nothing else with it, and all faults of all documents are reported together.
 */
import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { LineCounter, parseAllDocuments } from "yaml";
import type { Document } from "yaml";
import { errorText, PlatformError } from "../common/errors.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { isMap } from "./field-reader.ts";
import { readService, SERVICE_API } from "./service-reader.ts";
import type { FileFinding, FileReading, ServiceDefinition } from "./service-types.ts";

/** A cluster takes objects of 1.5 MiB; a model that was named by mistake must not be read. */
const MOST_BYTES = 16 * 1024 * 1024;

export async function readServiceFile(
  file: string,
  hostEnv: Readonly<Record<string, string | undefined>>,
): Promise<FileReading> {
  let text: string;
  try {
    text = await readText(file);
  } catch (error) {
    // A file that is gone takes its services with it; one that cannot be read is a fault.
    const gone = (error as NodeJS.ErrnoException).code === "ENOENT";
    const what = gone ? "is gone: its services are removed" : `cannot be read: ${errorText(error)}`;
    const findings = [{ file, line: 0, service: "", text: what }];
    const [errors, warnings] = gone ? [[], findings] : [findings, []];
    return { file, services: [], errors, warnings, faulty: [] };
  }
  return parseServiceFile(file, text, hostEnv);
}

async function readText(file: string): Promise<string> {
  const info = await stat(file);
  // A pipe or a device may never end, and nothing tells when it has changed.
  if (!info.isFile()) throw new PlatformError("ERR_CONFIG_INVALID", "not a regular file");
  if (info.size > MOST_BYTES) {
    const size = `${Math.ceil(info.size / 1024 / 1024)} MiB`;
    throw new PlatformError("ERR_CONFIG_INVALID", `${size} is too large for a service file`);
  }
  return readFile(file, "utf8");
}

export function parseServiceFile(
  file: string,
  text: string,
  hostEnv: Readonly<Record<string, string | undefined>>,
): FileReading {
  const counter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: counter, prettyErrors: false });
  const reading = new Accumulator(file);
  if (!Array.isArray(documents)) return reading.result();
  for (const document of documents as Document.Parsed[]) {
    const line = counter.linePos(document.contents?.range[0] ?? document.range[0]).line;
    for (const fault of document.errors) {
      reading.broken(counter.linePos(fault.pos[0]).line, fault.message);
    }
    if (document.errors.length > 0) continue;
    try {
      reading.read(document.toJS(), line, hostEnv);
    } catch (error) {
      // Aliases that name nothing, or that unfold without end: found only here.
      reading.broken(line, errorText(error));
    }
  }
  return reading.result();
}

class Accumulator {
  readonly file: string;
  readonly services = new Map<RevisionKey, ServiceDefinition>();
  readonly errors: FileFinding[] = [];
  readonly warnings: FileFinding[] = [];
  readonly faulty = new Set<RevisionKey>();

  constructor(file: string) {
    this.file = file;
  }

  /** Nobody can say which services a broken document has. */
  broken(line: number, fault: string): void {
    const { file } = this;
    this.errors.push({ file, line, service: "", text: `not valid YAML: ${fault}` });
  }

  read(
    document: unknown,
    line: number,
    hostEnv: Readonly<Record<string, string | undefined>>,
  ): void {
    const { file } = this;
    if (document === null || document === undefined) return;
    if (!isMap(document)) {
      this.errors.push({
        file,
        line,
        service: "",
        text: "not a Kubernetes object: expected a map",
      });
      return;
    }
    if (document["kind"] !== "Service" || document["apiVersion"] !== SERVICE_API) {
      const what = `${String(document["apiVersion"])} ${String(document["kind"])}`;
      const text = `${what} is not a ${SERVICE_API} Service: local mode ignores it`;
      this.warnings.push({ file, line, service: "", text });
      return;
    }
    const place = { file, folder: dirname(file), hostEnv };
    const { key, service, errors, warnings } = readService(document, place);
    const finding = (text: string): FileFinding => ({ file, line, service: key ?? "", text });
    this.errors.push(...errors.map(finding));
    this.warnings.push(...warnings.map(finding));
    if (service === null) {
      if (key !== null) this.faulty.add(key);
    } else if (this.services.has(service.key)) {
      this.errors.push(finding(`service ${service.key} stands twice in this file`));
    } else this.services.set(service.key, service);
  }

  result(): FileReading {
    return {
      file: this.file,
      services: [...this.services.values()],
      errors: this.errors,
      warnings: this.warnings,
      faulty: [...this.faulty],
    };
  }
}

/** `file:line: service: text`, with the detail lines of a stock text indented below. */
export function formatFinding(finding: FileFinding): string {
  const place = finding.line > 0 ? `${finding.file}:${finding.line}` : finding.file;
  const service = finding.service === "" ? "" : ` ${finding.service}:`;
  return `${place}:${service} ${finding.text.replaceAll("\n", "\n    ")}`;
}
