/**
 * The services of some files as objects for a cluster, word for word: there its API server judges
 * them. What is no Service of Knative is left alone and named.
 */
import { readFile } from "node:fs/promises";
import { LineCounter, parseAllDocuments } from "yaml";
import type { Document } from "yaml";
import { errorText } from "../common/errors.ts";
import { expandPaths } from "./paths.ts";
import { SERVICE_API } from "./service-reader.ts";

export interface ServiceObject {
  readonly file: string;
  /** 1-based, of the document. */
  readonly line: number;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
  };
}

export interface ServiceObjects {
  readonly objects: readonly ServiceObject[];
  /** `file:line: text`. */
  readonly errors: readonly string[];
}

export async function readServiceObjects(paths: readonly string[]): Promise<ServiceObjects> {
  const objects: ServiceObject[] = [];
  const errors: string[] = [];
  for (const file of await expandPaths(paths)) {
    try {
      const found = parseObjects(file, await readFile(file, "utf8"));
      objects.push(...found.objects);
      errors.push(...found.errors);
    } catch (error) {
      errors.push(`${file}:0: cannot be read: ${errorText(error)}`);
    }
  }
  return { objects, errors };
}

export function parseObjects(file: string, text: string): ServiceObjects {
  const objects: ServiceObject[] = [];
  const errors: string[] = [];
  const counter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: counter, prettyErrors: false });
  if (!Array.isArray(documents)) return { objects, errors };
  for (const document of documents as Document.Parsed[]) {
    const line = counter.linePos(document.contents?.range[0] ?? document.range[0]).line;
    const [fault] = document.errors;
    if (fault !== undefined) {
      errors.push(`${file}:${counter.linePos(fault.pos[0]).line}: ${fault.message}`);
      continue;
    }
    const object: unknown = document.toJS();
    if (object === null || object === undefined) continue;
    if (isService(object)) objects.push({ file, line, object });
    else errors.push(`${file}:${line}: no Service of ${SERVICE_API} with a name; left alone`);
  }
  return { objects, errors };
}

function isService(value: unknown): value is ServiceObject["object"] {
  const { apiVersion, kind, metadata } = value as Partial<ServiceObject["object"]>;
  return apiVersion === SERVICE_API && kind === "Service" && typeof metadata?.name === "string";
}
