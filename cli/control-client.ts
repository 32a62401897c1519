/** Calls on a running platform: changes over its control socket, figures from its dashboard. */
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { errorText, PlatformError } from "../common/errors.ts";
import type { ControlError, Snapshot } from "../local/platform-types.ts";
import type { RunningPlatform } from "./run-client.ts";

const SNAPSHOT_TIMEOUT_MS = 5_000;

export async function callControl<T>(
  { run, folder }: RunningPlatform,
  path: "/apply" | "/delete",
  body: Readonly<Record<string, unknown>>,
): Promise<T> {
  const socketPath = run.controlSocket ?? "";
  const answer = await post(socketPath, path, JSON.stringify(body)).catch((error: unknown) => {
    const cure =
      "Is the platform being stopped, or of an older version? Try again, or start it anew.";
    const what = `The platform in ${folder} does not take changes: ${errorText(error)}. ${cure}`;
    throw new PlatformError("ERR_NOT_RUNNING", what, { cause: error });
  });
  // Written by the platform of the same version: its shape is not checked again.
  if (answer.status === 200) return JSON.parse(answer.body) as T;
  const { code, message } = JSON.parse(answer.body) as ControlError;
  throw new PlatformError(code, message);
}

/** What the dashboard shows at this moment: load, targets, decisions. */
export async function readSnapshot({ run }: RunningPlatform): Promise<Snapshot> {
  const url = `${run.dashboardUrl}/api/snapshot`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return (await response.json()) as Snapshot;
  } catch (error) {
    const cure = "`pilotlight logs platform` may say why.";
    const what = `The dashboard at ${url} does not answer: ${errorText(error)}. ${cure}`;
    throw new PlatformError("ERR_UPSTREAM", what, { cause: error });
  }
}

function post(
  socketPath: string,
  path: string,
  body: string,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { "content-length": Buffer.byteLength(body) };
    const outgoing = request({ socketPath, path, method: "POST", headers }, (response) => {
      text(response).then(
        (answer) => resolve({ status: response.statusCode ?? 0, body: answer }),
        reject,
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
