/**
 * A registry for the nodes, since the cluster has no way out: serves our own images from the folder
 * that the build left, under the names in people's manifests. Reads only. A program of its own:
 *
 *   node scripts/cluster/images/registry.ts FOLDER ADDRESS PORT
 */
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";

interface Descriptor {
  readonly digest: string;
  readonly mediaType: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const [folder = "", address = "127.0.0.1", port = "0"] = process.argv.slice(2);
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const NAME = "org.opencontainers.image.ref.name";

createServer(answer).listen(Number(port), address);
process.on("SIGTERM", () => process.exit(0));

interface Wanted {
  readonly digest: string;
  readonly type: string;
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? "/", "http://registry");
  if (pathname === "/v2/") return void response.end("{}");
  const wanted = wantedBy(pathname);
  const file = wanted === undefined ? undefined : blob(wanted.digest);
  if (wanted === undefined || file === undefined) {
    response.writeHead(404, { "content-type": "application/json" });
    return void response.end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
  }
  response.writeHead(200, {
    "content-type": wanted.type,
    "content-length": statSync(file).size,
    "docker-content-digest": wanted.digest,
  });
  if (request.method === "HEAD") return void response.end();
  createReadStream(file).pipe(response);
}

function wantedBy(path: string): Wanted | undefined {
  const match = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path);
  if (match === null) return undefined;
  const [, repository = "", kind, reference = ""] = match;
  if (kind === "blobs") return { digest: reference, type: "application/octet-stream" };
  const digest = manifestOf(repository, reference);
  return digest === undefined ? undefined : { digest, type: MANIFEST };
}

/** The digest behind a tag; the registry part of a name is the mirror's to know. */
function manifestOf(repository: string, reference: string): string | undefined {
  if (reference.startsWith("sha256:")) return reference;
  const file = join(folder, "index.json");
  if (!existsSync(file)) return undefined;
  const { manifests } = JSON.parse(readFileSync(file, "utf8")) as { manifests: Descriptor[] };
  const wanted = `/${repository}:${reference}`;
  return manifests.find(({ annotations }) => annotations?.[NAME]?.endsWith(wanted))?.digest;
}

function blob(digest: string): string | undefined {
  const [, sum] = /^sha256:([0-9a-f]{64})$/.exec(digest) ?? [];
  const file = join(folder, "blobs/sha256", sum ?? "none");
  return existsSync(file) ? file : undefined;
}
