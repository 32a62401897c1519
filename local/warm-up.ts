/**
 * Takes the first steps of a pod's start once before anybody waits for them: code that never ran,
 * modules that were never read and a program that was never started cost the first cold start some
 * 30 ms.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AddressBook } from "./addresses.ts";
import * as podFiles from "./pod-files.ts";
import { signPodToken } from "./pod-identity.ts";

/** Pods that a first request often starts at once. */
const PODS = 4;

export interface WarmUpParts {
  readonly addresses: AddressBook;
  readonly secret: string;
}

/** Leaves nothing behind; what fails here fails again, and is told, where it matters. */
export async function warmUp({ addresses, secret }: WarmUpParts): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-warm-up-"));
  try {
    await Promise.all(Array.from({ length: PODS }, () => rehearse(folder, addresses, secret)));
  } catch {
    // No pod waits for this.
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function rehearse(folder: string, addresses: AddressBook, secret: string): Promise<void> {
  const [address, port] = await Promise.all([addresses.takeAddress(), addresses.takePort()]);
  try {
    const root = join(folder, address);
    const identity = { namespace: "default", podName: "warm-up", podUid: address };
    podFiles.createPodRoot(root);
    podFiles.writeToken(root, signPodToken(secret, identity, Date.now()));
    podFiles.writeActivators(root, []);
    podFiles.writeAnnotations(root, {});
    const child = spawn(process.execPath, ["--version"], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {},
    });
    await once(child, "exit");
  } finally {
    addresses.giveBack(address, port);
  }
}
