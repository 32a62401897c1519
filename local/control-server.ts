/**
 * The one way to change a running platform from outside: a Unix socket in the run folder, which
 * only its owner may enter. No port, so no page of a browser and no other user reaches it.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { errorText, PlatformError } from "../common/errors.ts";
import type { Logger } from "../foundation/logger.ts";
import type { AppliedServices, ControlError } from "./platform-types.ts";
import { RUN_FILES } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";
import type { DeleteRequest } from "./sources.ts";

/** The kernel's limit for the path of a socket is 107 bytes. */
const MAX_PATH_BYTES = 100;
const MAX_BODY_BYTES = 1_048_576;
const REQUEST_TIMEOUT_MS = 5_000;

export interface ControlActions {
  apply(paths: readonly string[]): Promise<AppliedServices>;
  remove(request: DeleteRequest): Promise<readonly RevisionKey[]>;
}

export interface ControlServer {
  /** Path of the socket. */
  readonly path: string;
  close(): Promise<void>;
}

export async function startControlServer(
  folder: RunFolder,
  actions: ControlActions,
  logger: Logger,
): Promise<ControlServer> {
  const place = await placeOf(folder);
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: REQUEST_TIMEOUT_MS },
    (request, response) => {
      answer(actions, request).then(
        (result) => send(response, 200, result),
        (error: unknown) => {
          if (!(error instanceof PlatformError)) logger.error("control call failed", { error });
          send(response, 400, errorBody(error));
        },
      );
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(place.path, resolve);
  });
  return {
    path: place.path,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (place.folder !== "") await rm(place.folder, { recursive: true, force: true });
    },
  };
}

/** In the run folder where its path is short enough, else in a folder of its own; both are 0700. */
async function placeOf(folder: RunFolder): Promise<{ path: string; folder: string }> {
  const path = folder.at(RUN_FILES.control);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, folder: "" };
  const own = await mkdtemp(join(tmpdir(), "pilotlight-control-"));
  return { path: join(own, RUN_FILES.control), folder: own };
}

async function answer(actions: ControlActions, request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request);
  const paths = textsOf(body, "paths");
  if (request.method === "POST" && request.url === "/apply") return actions.apply(paths);
  if (request.method === "POST" && request.url === "/delete") {
    const services = textsOf(body, "services").filter(isKey);
    return { removed: await actions.remove({ services, paths }) };
  }
  throw new PlatformError("ERR_USAGE", `There is no ${request.method} ${request.url} here.`);
}

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const length = Number(request.headers["content-length"]);
  if (!(length <= MAX_BODY_BYTES)) {
    throw new PlatformError("ERR_USAGE", `The body must have a length up to ${MAX_BODY_BYTES}.`);
  }
  const body: unknown = JSON.parse(await text(request));
  if (typeof body === "object" && body !== null) return body as Record<string, unknown>;
  throw new PlatformError("ERR_USAGE", "The body must be a JSON object.");
}

function textsOf(body: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = body[name] ?? [];
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return value;
  throw new PlatformError("ERR_USAGE", `${name} must be a list of texts.`);
}

function isKey(text: string): text is RevisionKey {
  return text.includes("/");
}

function errorBody(error: unknown): ControlError {
  const code = error instanceof PlatformError ? error.code : "ERR_INTERNAL";
  return { code, message: errorText(error) };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
