/**
 * Reads values out of a parsed YAML document by path and collects every fault in the texts that
 * stock Knative uses, so that one look at a file reports all of them.
 */

export type YamlMap = Readonly<Record<string, unknown>>;

export function isMap(value: unknown): value is YamlMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export class FieldReader {
  readonly faults: string[] = [];

  fault(message: string, path: string, details = ""): void {
    this.faults.push(`${message}: ${path}${details === "" ? "" : `\n${details}`}`);
  }

  missing(path: string): void {
    this.fault("missing field(s)", path);
  }

  invalid(value: unknown, path: string, details = ""): void {
    this.fault(`invalid value: ${printed(value)}`, path, details);
  }

  /** A map, or an empty one when absent. */
  map(parent: YamlMap, key: string, path: string): YamlMap {
    const value = parent[key];
    if (value === undefined || value === null) return {};
    if (isMap(value)) return value;
    this.invalid(value, path, "must be a map");
    return {};
  }

  list(parent: YamlMap, key: string, path: string): readonly unknown[] {
    const value = parent[key];
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.invalid(value, path, "must be a list");
    return [];
  }

  text(parent: YamlMap, key: string, path: string): string {
    const value = parent[key];
    if (value === undefined || value === null) return "";
    if (typeof value === "string") return value;
    this.invalid(value, path, "must be a string");
    return "";
  }

  texts(parent: YamlMap, key: string, path: string): readonly string[] {
    return this.list(parent, key, path).flatMap((value, index) => {
      if (typeof value === "string") return [value];
      this.invalid(value, `${path}[${index}]`, "must be a string; put it in quotes");
      return [];
    });
  }

  /** Map of text to text. Kubernetes refuses bare numbers and booleans here, so we do as well. */
  textMap(parent: YamlMap, key: string, path: string): Readonly<Record<string, string>> {
    const result: Record<string, string> = {};
    for (const [name, value] of Object.entries(this.map(parent, key, path))) {
      if (typeof value === "string") result[name] = value;
      else this.invalid(value, `${path}.${name}`, "must be a string; put it in quotes");
    }
    return result;
  }

  integer(
    parent: YamlMap,
    path: string,
    limits: { key: string; min: number; max: number; fallback: number },
  ): number {
    const value = parent[limits.key];
    if (value === undefined || value === null) return limits.fallback;
    if (typeof value !== "number" || !Number.isInteger(value)) {
      this.invalid(value, path, "must be an integer");
      return limits.fallback;
    }
    if (value < limits.min || value > limits.max) {
      this.fault(`expected ${limits.min} <= ${value} <= ${limits.max}`, path);
      return limits.fallback;
    }
    return value;
  }
}

function printed(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
