/** What the images run: bundles that start by themselves, and the Dockerfile that ships them. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SIDECAR_NODE_FLAGS } from "../../../local/sidecar.ts";
import { COMPILED } from "../../../queue-proxy/compiled.ts";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import { StubPod } from "../../support/activator-stub-pod.ts";
import { ApiServerStub, createSigningKey, podToken } from "../../support/api-server-stub.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const ROOT = join(import.meta.dirname, "../../..");
const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
const UID = "65532";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pilotlight-images-"));
  execFileSync(process.execPath, [join(ROOT, "scripts/build-images.ts"), folder]);
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the Dockerfile", () => {
  it("starts only what is built", () => {
    const started = [...dockerfile.matchAll(/^CMD \[.*"\/app\/([^"]+)"\]$/gm)];
    expect(started.map((match) => match[1])).toHaveLength(3);
    for (const [, file = ""] of started) expect(existsSync(join(folder, file)), file).toBe(true);
  });

  it("has one pinned base, and a user by number", () => {
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=\S+\/node:\d+\.\d+\.\d+-bookworm-slim$/m);
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map((match) => match[1]);
    expect([...new Set(bases)]).toEqual(["${NODE_IMAGE}", "runtime"]);
    expect(dockerfile).toContain(`USER ${UID}:${UID}`);
  });

  it("runs the Node that everything else is tested with", () => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    expect(dockerfile).toContain(`node:${devDependencies["node"]}-`);
  });

  it("gives the queue-proxy the flags of local mode, also while its cache is written", () => {
    const flags = SIDECAR_NODE_FLAGS.map((flag) => `"${flag}"`).join(", ");
    expect(dockerfile).toContain(`CMD [${flags}, "/app/queue-proxy/main.cjs"]`);
    const warm = `warm-sidecar.ts ${SIDECAR_NODE_FLAGS.join(" ")} /app/queue-proxy`;
    expect(dockerfile).toContain(warm);
  });

  it("is given every folder that the bundles are made of", () => {
    const given = new Set(
      [...readFileSync(join(ROOT, ".dockerignore"), "utf8").matchAll(/^!(\S+)$/gm)].map(
        (match) => match[1] ?? "",
      ),
    );
    const sources = ["activator", "queue-proxy", "autoscaler", "dashboard"].flatMap(importsBelow);
    for (const source of new Set(sources)) expect(given.has(source), source).toBe(true);
  });
});

/** Top folders that files of a folder import. */
function importsBelow(name: string): string[] {
  const files = readdirSync(join(ROOT, name), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, name, file), "utf8");
      return [...text.matchAll(/from "(?:\.\.\/)+([a-z-]+)\//g)].map((match) => match[1] ?? "");
    })
    .filter((folderName) => existsSync(join(ROOT, folderName)));
}

describe("a bundle", () => {
  it.each(["activator/main.mjs", "autoscaler/main.mjs", "dashboard/main.mjs"])(
    "%s says what it lacks",
    (file) => {
      if (!existsSync(join(folder, file))) return;
      const { status, stderr } = spawnSync(process.execPath, [join(folder, file)], {
        env: { PATH: process.env["PATH"] },
        encoding: "utf8",
      });
      expect(stderr).toContain("PILOTLIGHT_STORE_URL: is not set");
      expect(status).not.toBe(0);
    },
  );

  describe("of the queue-proxy", () => {
    const place = (): string => join(folder, "queue-proxy");
    /** Whether V8 takes what was compiled, in a process with these flags. */
    const isTaken = (...flags: string[]): boolean => {
      const module = JSON.stringify(join(ROOT, "queue-proxy/compiled.ts"));
      const look = `import { compileSidecar } from ${module};
        console.log(compileSidecar(process.argv[1]).cachedDataRejected);`;
      const args = [...flags, "--input-type=module", "--eval", look, place()];
      return execFileSync(process.execPath, args, { encoding: "utf8" }).trim() === "false";
    };

    beforeAll(() => {
      const script = join(ROOT, "scripts/warm-sidecar.ts");
      execFileSync(process.execPath, [script, ...SIDECAR_NODE_FLAGS, place()]);
    }, 60_000);

    it("comes with what was compiled, which every user can read", () => {
      expect(isTaken(...SIDECAR_NODE_FLAGS)).toBe(true);
      expect(statSync(join(place(), COMPILED)).mode & 0o444).toBe(0o444);
      // A life up to a request compiles about twice what its first lines do.
      expect(statSync(join(place(), COMPILED)).size).toBeGreaterThan(300_000);
    });

    it("starts as well where V8 does not take it", () => {
      const start = () =>
        spawnSync(process.execPath, [join(place(), "main.cjs")], {
          env: { PATH: process.env["PATH"] },
          encoding: "utf8",
        });
      expect(isTaken("--no-maglev")).toBe(false);
      for (const code of ["", "not what V8 wrote"]) {
        writeFileSync(join(place(), COMPILED), code);
        expect(start().stderr).toContain("SERVING_NAMESPACE: is not set");
      }
      rmSync(join(place(), COMPILED));
      expect(start().stderr).toContain("SERVING_NAMESPACE: is not set");
    });
  });
});

describe("the activator's bundle in a cluster", () => {
  let valkey: ValkeyServer;
  let bench: ActivatorBench;
  let api: ApiServerStub;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    valkey = await startValkey();
    bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
    await bench.configure();
    api = new ApiServerStub();
    await api.listen();
  });
  afterAll(async () => {
    child?.kill("SIGKILL");
    await bench.close();
    await api.close();
    await valkey.stop();
  });

  it("takes a pod by its token, and a request by the headers of the ingress", async () => {
    const key = await createSigningKey("one", "ES256");
    api.keys = [key];
    const started = spawn(process.execPath, [join(folder, "activator/main.mjs")], {
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        ...bench.environment,
        PILOTLIGHT_RUN_FOLDER: "",
        PILOTLIGHT_LOG_LEVEL: "info",
        PILOTLIGHT_LISTEN: "127.0.0.1:0",
        PILOTLIGHT_H2C_LISTEN: "127.0.0.1:0",
        PILOTLIGHT_PUSH_LISTEN: "127.0.0.1:0",
        PILOTLIGHT_STOCK_AUTOSCALER_URL: "",
        PILOTLIGHT_LAME_DUCK_MS: "0",
        PILOTLIGHT_API_URL: api.options.apiUrl,
        PILOTLIGHT_ACCOUNT_FOLDER: api.options.accountFolder,
      },
    });
    child = started;
    const { dataUrl, push } = await listening(started);
    const uid = "uid-of-a-bundle";
    const address = `127.0.${10 + (process.pid % 200)}.88`;
    api.pods.set("default/pod", {
      metadata: { uid, labels: { "serving.knative.dev/revision": "echo-00001" } },
      status: { podIP: address },
    });
    const token = (): Promise<string> => podToken(key, { uid, pod: "pod" });
    const pod = new StubPod({ uid, address, revision: REVISION, secret: "", token });
    await pod.listen();
    try {
      await pod.register(push);
      const headers = {
        "knative-serving-namespace": "default",
        "knative-serving-revision": "echo-00001",
      };
      expect((await call(dataUrl, "/", { host: "echo.example.com", headers })).status).toBe(200);
      const ended = new Promise((resolve) => started.once("exit", resolve));
      started.kill("SIGTERM");
      expect(await ended).toBe(0);
    } finally {
      await pod.stop();
    }
  });
});

/** Its log says where it listens, as for whoever starts it. */
async function listening(started: ChildProcess): Promise<{ dataUrl: string; push: string }> {
  if (started.stderr === null) throw new Error("its log goes elsewhere");
  for await (const line of createInterface({ input: started.stderr })) {
    const entry = JSON.parse(line) as { message: string; dataUrl: string; push: string };
    if (entry.message === "listening") {
      started.stderr.resume();
      return entry;
    }
  }
  throw new Error("it ended without listening");
}
