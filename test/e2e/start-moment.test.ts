/** The first moments of a platform: who asks too early waits, and a start that hangs can be ended. */
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { findFreePort } from "../../local/addresses.ts";
import { startPlatform } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import { startCli } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { APP } from "../support/local-pods.ts";

const SOON = { timeoutMs: 30_000 };

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-start-"));
  await writeFile(
    join(folder, "early.yaml"),
    `apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: early }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        pilotlight.dev/local-command: node ${APP}
    spec: { containers: [{ image: example.com/early }] }
`,
  );
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

it("a request that comes as soon as the port is open is answered, not refused", async () => {
  const port = await findFreePort("127.0.0.1", 0);
  const runFolder = join(folder, "run");
  const starting = startPlatform({ files: [join(folder, "early.yaml")], port, runFolder });
  try {
    const ask = () => callService(`http://127.0.0.1:${port}`, "early.default.localhost");
    const first = await eventually(() => ask().catch(() => undefined), SOON);
    expect(first?.status).toBe(200);
  } finally {
    await (await starting).stop(0);
  }
});

it("a second Ctrl-C ends a start that hangs, and nothing is left", async () => {
  const store = join(folder, "silent-store");
  await writeFile(store, `#!/bin/sh\ntouch "${folder}/started"\nexec sleep 60\n`);
  await chmod(store, 0o755);
  vi.stubEnv("PILOTLIGHT_VALKEY", store);
  const up = startCli(folder, ["up", "early.yaml", "--port", "0", "--run-folder", "run"]);
  await eventually(() => existsSync(join(folder, "started")), SOON);
  // Signals of one kind that come together are one.
  const again = setInterval(() => up.child.kill("SIGINT"), 50);
  expect((await up.done.finally(() => clearInterval(again))).code).toBe(1);
  await eventually(() => !existsSync(join(folder, "run")), SOON);
});
