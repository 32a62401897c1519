/** Finds Chromium and runs it without a screen, in a profile of its own that goes with it. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Cdp } from "./cdp.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const START_MS = 30_000;
const STOP_MS = 5_000;

export interface Browser {
  readonly cdp: Cdp;
  readonly version: string;
  stop(): Promise<void>;
}

/** `PILOTLIGHT_CHROMIUM`, else the first of the usual names on the PATH. */
export function findChromium(): string | null {
  const named = process.env["PILOTLIGHT_CHROMIUM"] ?? "";
  if (named !== "") return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  for (const name of NAMES) {
    const found = folders.map((folder) => join(folder, name)).find(isProgram);
    if (found !== undefined) return found;
  }
  return null;
}

export async function startChromium(program: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "pilotlight-browser-"));
  const child = spawn(
    program,
    [
      "--headless=new",
      "--remote-debugging-port=0",
      `--user-data-dir=${profile}`,
      "--no-first-run",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--hide-scrollbars",
      "--force-color-profile=srgb",
      "--font-render-hinting=none",
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "pipe"], detached: true },
  );
  const stop = async (): Promise<void> => {
    await end(child);
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const cdp = await Cdp.connect(await endpointOf(child));
    const { product } = await cdp.send<{ readonly product: string }>("Browser.getVersion");
    return {
      cdp,
      version: product,
      stop: async () => {
        cdp.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function endpointOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(
      () => reject(new Error(`Chromium does not start:\n${text}`)),
      START_MS,
    );
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`Chromium ended:\n${text.slice(-2_000)}`)));
    child.stderr?.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      const url = /DevTools listening on (ws:\S+)/.exec(text)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}

/** It has children of its own: the whole group ends. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const kill = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-(child.pid ?? 0), signal);
    } catch {
      // It is gone already.
    }
  };
  kill("SIGTERM");
  const timer = setTimeout(() => kill("SIGKILL"), STOP_MS);
  await gone;
  clearTimeout(timer);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
