/**
 * The activators of a local platform: child processes that share the public port, started again
 * when they die. Their push addresses are what sidecars find in their `activators` file.
 */
import { fileURLToPath } from "node:url";
import { PlatformError } from "../common/errors.ts";
import type { ActivatorRecord } from "../common/contracts/local-run.ts";
import { describeExit, startChild } from "./child.ts";
import type { Child } from "./child.ts";
import { LogFile } from "./log-file.ts";
import { RUN_FILES } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";
import { Supervised } from "./supervised.ts";
import type { Watchdog } from "./watchdog.ts";

const ACTIVATOR_MAIN = fileURLToPath(new URL("../activator/main.ts", import.meta.url));
const START_TIMEOUT_MS = 20_000;

export interface ActivatorsOptions {
  readonly ids: readonly string[];
  /** `host:port` that all of them share. */
  readonly sharedListen: string;
  readonly storeUrl: string;
  readonly storePrefix: string;
  readonly folder: RunFolder;
  readonly watchdog: Watchdog;
  readonly compileCache: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables of an activator of several cells; empty where there is one. */
  readonly cell: Readonly<Record<string, string>>;
  /** The set of living activators changed. */
  readonly onChange: () => void;
  readonly onWarning: (text: string) => void;
}

interface Member {
  readonly id: string;
  readonly process: Supervised;
  readonly log: LogFile;
  record: ActivatorRecord | null;
}

/** The operator's own words about callers' tokens, traces and the request log, passed on as they are. */
const PASSED_ON = ["PILOTLIGHT_AUTH_", "PILOTLIGHT_TRACING_", "PILOTLIGHT_REQUEST_LOG"];

function passedOn(env: ActivatorsOptions["env"]): Record<string, string> {
  const given = Object.entries(env).flatMap(([name, value]) =>
    PASSED_ON.some((prefix) => name.startsWith(prefix)) && value !== undefined
      ? [[name, value] as const]
      : [],
  );
  return Object.fromEntries(given);
}

export class Activators {
  readonly #options: ActivatorsOptions;
  readonly #members: Member[];

  constructor(options: ActivatorsOptions) {
    this.#options = options;
    this.#members = options.ids.map((id) => this.#member(id));
  }

  /** Resolves when all of them listen. */
  async start(): Promise<void> {
    await Promise.all(this.#members.map((member) => this.#untilListening(member)));
  }

  /** Those that live now. */
  records(): readonly ActivatorRecord[] {
    return this.#members.flatMap(({ record }) => (record === null ? [] : [record]));
  }

  states(): readonly { readonly id: string; readonly record: ActivatorRecord | null }[] {
    return this.#members.map(({ id, record }) => ({ id, record }));
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all(
      this.#members.map(async (member) => {
        await member.process.stop(graceMs);
        member.log.close();
      }),
    );
  }

  #member(id: string): Member {
    const { folder } = this.#options;
    const log = new LogFile(folder.at(RUN_FILES.logs, `${id}.log`));
    const member: Member = {
      id,
      log,
      record: null,
      process: new Supervised({
        start: () => this.#spawn(member),
        onExit: (exit, pauseMs) => {
          member.record = null;
          const again = `starts again in ${Math.round(pauseMs)} ms`;
          this.#options.onWarning(`activator ${id} ${describeExit(exit)}; ${again}`);
          this.#options.onChange();
        },
      }),
    };
    return member;
  }

  #spawn(member: Member): Child {
    const { folder, storeUrl, storePrefix, sharedListen, env, compileCache, watchdog } =
      this.#options;
    member.log.newLife();
    const child = startChild(
      {
        command: process.execPath,
        args: [ACTIVATOR_MAIN],
        cwd: folder.path,
        log: member.log,
        env: {
          PATH: env["PATH"] ?? "",
          NODE_COMPILE_CACHE: compileCache,
          PILOTLIGHT_STORE_URL: storeUrl,
          PILOTLIGHT_STORE_PREFIX: storePrefix,
          // Of this life: a second one must not renew the leases of the first.
          PILOTLIGHT_ACTIVATOR_ID: `${member.id}.${member.process.restarts + 1}`,
          PILOTLIGHT_SHARED_LISTEN: sharedListen,
          PILOTLIGHT_LISTEN: "127.0.0.1:0",
          PILOTLIGHT_PUSH_LISTEN: "127.0.0.1:0",
          PILOTLIGHT_RUN_FOLDER: folder.path,
          ...passedOn(env),
          ...this.#options.cell,
        },
        ipc: (message) => this.#onMessage(member, child.pid, message),
      },
      watchdog,
    );
    return child;
  }

  #onMessage(member: Member, pid: number, message: unknown): void {
    if (!isListening(message)) return;
    member.record = {
      id: member.id,
      pid,
      url: message.dataUrl,
      push: message.push,
      ...peerOf(message),
    };
    this.#options.onChange();
  }

  async #untilListening(member: Member): Promise<void> {
    member.process.start();
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (member.record === null) {
      if (member.process.restarts > 1 || performance.now() > deadline) {
        throw new PlatformError(
          "ERR_CHILD_START",
          `Activator ${member.id} does not start. Its last words:\n${member.log.lastWords(10)}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

function peerOf({ peer }: ListeningMessage): { readonly peer?: string } {
  return typeof peer === "string" ? { peer } : {};
}

interface ListeningMessage {
  readonly type: "listening";
  readonly dataUrl: string;
  readonly push: string;
  readonly peer?: string;
}

function isListening(message: unknown): message is ListeningMessage {
  if (typeof message !== "object" || message === null) return false;
  const { type, dataUrl, push } = message as Record<string, unknown>;
  return type === "listening" && typeof dataUrl === "string" && typeof push === "string";
}
