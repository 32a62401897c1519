/** What the machine must have: system, Node, memory, limits, the loopback block, names. */
import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { availableParallelism, freemem } from "node:os";
import { isFree } from "../../local/addresses.ts";
import { ill, well } from "./check.ts";
import type { Finding } from "./check.ts";

const MIN_NODE = 24;
const MIB = 1_048_576;
const MIN_FREE_BYTES = 512 * MIB;
/** An activator alone holds two per request in flight. */
const MIN_FILES = 4_096;
const MIN_PROCESSES = 512;
/** A pod's address: anything in the block but the one that every system has. */
const POD_ADDRESS = "127.77.77.77";
const NAME = "pilotlight-doctor.default.localhost";

export function checkMachine(): Finding {
  const text = `${process.platform} ${process.arch}, ${availableParallelism()} CPUs, ${mib(freemem())} free`;
  if (process.platform !== "linux") {
    return ill(
      "machine",
      "fail",
      text,
      "Local mode needs Linux: use a Linux machine, a Linux container or WSL 2.",
    );
  }
  if (freemem() >= MIN_FREE_BYTES) return well("machine", text);
  const cure = `Less than ${mib(MIN_FREE_BYTES)} is free: end something, or pods may not start.`;
  return ill("machine", "warn", text, cure);
}

export function checkNode(version: string = process.versions.node): Finding {
  if (Number(version.split(".")[0]) >= MIN_NODE) return well("node", `Node ${version}`);
  const cure = `Install Node ${MIN_NODE} or newer, or start by \`npx pilotlight\`, which brings one.`;
  return ill("node", "fail", `Node ${version}`, cure);
}

/** Node raises its soft limit to the hard one by itself, so that one counts. */
export async function checkLimits(): Promise<Finding> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const files = hardLimit(text, "Max open files");
  const processes = hardLimit(text, "Max processes");
  const shown = `${shownLimit(files)} open files, ${shownLimit(processes)} processes`;
  if (files < MIN_FILES) {
    const cure = `Raise it: ulimit -Hn ${MIN_FILES} (or LimitNOFILE=). Each request holds two files.`;
    return ill("limits", "warn", shown, cure);
  }
  if (processes >= MIN_PROCESSES) return well("limits", shown);
  const cure = `Raise it: ulimit -Hu ${MIN_PROCESSES}. Each pod is two processes with their threads.`;
  return ill("limits", "warn", shown, cure);
}

/** Third column of /proc/PID/limits; infinite where there is none. */
export function hardLimit(text: string, name: string): number {
  const line = text.split("\n").find((one) => one.startsWith(name)) ?? "";
  const word = line.slice(name.length).trim().split(/\s+/)[1];
  return word === undefined || word === "unlimited" ? Number.POSITIVE_INFINITY : Number(word);
}

export async function checkLoopback(): Promise<Finding> {
  if (await isFree(POD_ADDRESS, 0)) return well("loopback", "127.0.0.0/8 can be used");
  const cure =
    "Each pod has an address of its own there. Only Linux has the whole block by itself.";
  return ill("loopback", "fail", `cannot listen on ${POD_ADDRESS}`, cure);
}

export async function checkNames(): Promise<Finding> {
  const { address = "" } = await lookup(NAME).catch(() => ({ address: undefined }));
  if (address === "::1" || address.startsWith("127.")) {
    return well("names", "*.localhost resolves to this machine");
  }
  const found = address === "" ? "does not resolve" : `resolves to ${address}`;
  const cure =
    "Browsers and curl know these names by themselves. Elsewhere use `pilotlight invoke`, or send " +
    "the name as Host header to 127.0.0.1.";
  return ill("names", "warn", `*.localhost ${found}`, cure);
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

function shownLimit(limit: number): string {
  return Number.isFinite(limit) ? String(limit) : "unlimited";
}
