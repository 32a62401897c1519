/** Which command stands for an image, and which server for the store, on machines of several kinds. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { containerArguments, findContainerEngine } from "../../../local/container-engine.ts";
import { findLaunch } from "../../../local/launch.ts";
import type { LaunchResult } from "../../../local/launch.ts";
import { openRunFolder } from "../../../local/run-folder.ts";
import { parseServiceFile } from "../../../local/service-files.ts";
import { startStore } from "../../../local/valkey.ts";
import { startWatchdog } from "../../../local/watchdog.ts";
import { eventually } from "../../support/eventually.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-launch-"));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

async function program(name: string, script: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

function launch(container: string, annotation = ""): Promise<LaunchResult> {
  const text = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: x }
spec:
  template:
    metadata: { annotations: { ${annotation} } }
    spec: { containers: [{ image: example.com/x, ${container} }] }`;
  const [service] = parseServiceFile(join(folder, "x.yaml"), text, {}).services;
  if (service === undefined) throw new Error("fixture is faulty");
  return findLaunch(service, findContainerEngine);
}

const shown = (result: LaunchResult): string =>
  result.kind === "found" ? result.launch.shown : `none: ${result.text}`;

describe("the command", () => {
  beforeEach(() => {
    // A machine without any engine, whatever this one has.
    vi.stubEnv("PATH", `${folder}${delimiter}/usr/bin${delimiter}/bin`);
  });

  it("is the annotation's, before the container's own, in the folder of the file", async () => {
    await program("docker", "exit 1");
    const result = await launch("command: [sh]", 'pilotlight.dev/local-command: "node a.mjs"');
    expect(result).toMatchObject({
      kind: "found",
      launch: { command: "sh", args: ["-c", "exec node a.mjs"], cwd: folder },
    });
    const compound = await launch("", 'pilotlight.dev/local-command: "cd app && node a.mjs"');
    expect(compound).toMatchObject({ launch: { args: ["-c", "cd app && node a.mjs"] } });
  });

  it("is the container's own where its program and folder exist here", async () => {
    await mkdir(join(folder, "app"));
    const result = await launch('command: [sh, -c], args: ["echo hi"], workingDir: app');
    expect(result).toMatchObject({
      launch: { kind: "process", args: ["-c", "echo hi"], cwd: join(folder, "app") },
    });
  });

  it("is an engine's that answers", async () => {
    await program("docker", 'test "$1" = version && echo 28.0');
    expect(shown(await launch("command: [/app/no-such-server]"))).toBe("docker run example.com/x");
  });

  it("is missing with all reasons and a cure, also where an engine is installed but dead", async () => {
    await program("docker", "exit 1");
    await program("podman", "exit 125");
    const text = shown(await launch("command: [python9], workingDir: /"));
    expect(text).toContain("no annotation pilotlight.dev/local-command");
    expect(text).toContain("its command python9 does not exist here");
    expect(text).toContain("docker does not answer, podman does not answer");
    expect(text).toContain(
      'set spec.template.metadata.annotations["pilotlight.dev/local-command"]',
    );
    expect(shown(await launch("command: [sh], workingDir: /no/such"))).toContain(
      "its workingDir /no/such does not exist here",
    );
  });

  it("gives an engine environment, entry point and GPU", async () => {
    const text = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: x }
spec:
  template:
    spec:
      containers:
        - image: example.com/x
          command: [serve]
          args: [--fast]
          resources: { limits: { nvidia.com/gpu: 1 } }`;
    const [service] = parseServiceFile("/x.yaml", text, {}).services;
    const container = service?.template.container;
    if (container === undefined) throw new Error("fixture is faulty");
    const env = { PORT: "1" };
    expect(containerArguments({ engine: "docker", name: "n", container, env }).join(" ")).toBe(
      "run --rm --init --name n --network host --env PORT=1 --gpus all --entrypoint serve example.com/x --fast",
    );
  });
});

it("ends containers of an engine when the platform is gone", async () => {
  await program("docker", `echo "$@" >> ${join(folder, "calls")}`);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"] ?? ""}`);
  const watchdog = await startWatchdog(join(folder, "none"));
  watchdog.watchContainer("docker", "kept");
  watchdog.watchContainer("docker", "left");
  watchdog.forgetContainer("docker", "left");
  await watchdog.stop();
  const calls = await eventually(() => readFile(join(folder, "calls"), "utf8"));
  expect(calls).toBe("rm --force kept\n");
});

describe("the store's server", () => {
  const start = async (env: Record<string, string>, name = "run") => {
    const run = await openRunFolder(join(folder, name));
    const watchdog = await startWatchdog(run.path);
    const stopAll = async (): Promise<void> => {
      await watchdog.stop();
      await run.remove();
    };
    try {
      const store = await startStore({ folder: run, watchdog, env, onWarning: () => undefined });
      await store.stop();
      return store;
    } finally {
      await stopAll();
    }
  };

  it("is an external one where VALKEY_URL names it", async () => {
    const store = await start({ VALKEY_URL: "redis://elsewhere:1" });
    expect(store).toMatchObject({ url: "redis://elsewhere:1", pid: 0 });
  });

  it("is the named binary, and a wrong name is told with its cure", async () => {
    await expect(start({ PILOTLIGHT_VALKEY: "/no/valkey" })).rejects.toThrow(
      "PILOTLIGHT_VALKEY names /no/valkey, which is no program. Set it to a valkey-server binary.",
    );
  });

  it("starts in a folder of any name", async () => {
    const PATH = process.env["PATH"] ?? "";
    const store = await start({ PATH }, 'mein "läufer" $HOME \\ 日本');
    expect(store.url).toMatch(/^redis:/);
  });

  it("that dies at its start shows its last words", async () => {
    const path = await program("broken-server", "echo cannot bind; exit 1");
    await expect(start({ PILOTLIGHT_VALKEY: path })).rejects.toThrow(/cannot bind/);
  });
});
