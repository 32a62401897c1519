/** Debian's packages that the rig needs: installed when missing, named when that is impossible. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Progress } from "../progress.ts";
import { run } from "../run.ts";
import { DEBIAN_PACKAGES } from "./pins.ts";

export async function ensureDebianPackages(progress: Progress): Promise<void> {
  const missing = Object.entries(DEBIAN_PACKAGES).flatMap(([name, program]) =>
    isThere(program) ? [] : [name],
  );
  if (missing.length === 0) return;
  if (!isThere("apt-get")) {
    throw new Error(
      `The cluster needs the programs of Debian's packages ${missing.join(", ")}. This system has ` +
        "no apt-get: install them by its own means and try again.",
    );
  }
  await progress.step(`Installing ${missing.join(", ")}`, async () => {
    const onLine = (line: string): void => progress.detail(line.slice(0, 60));
    // A service of the package must not start: the rig runs its own, in its own namespaces.
    const env = { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
    await run("apt-get", ["update", "-q"], { env, onLine });
    await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...missing], {
      env,
      onLine,
    });
  });
}

export function isThere(program: string): boolean {
  if (program.startsWith("/")) return existsSync(program);
  const folders = `${process.env["PATH"] ?? ""}${delimiter}/usr/sbin${delimiter}/sbin`;
  return folders.split(delimiter).some((folder) => existsSync(join(folder, program)));
}
