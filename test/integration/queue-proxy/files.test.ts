/** What the sidecar reads and writes in its pod's files. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileDirectory } from "../../../queue-proxy/activator-directory.ts";
import { createPodIdentity } from "../../../queue-proxy/pod-identity.ts";
import { beginLife } from "../../../queue-proxy/previous-life.ts";
import { eventually } from "../../support/eventually.ts";
import { tokenOf, writeToken } from "../../support/queue-proxy-process.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pilotlight-files-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("the list of activators", () => {
  function write(text: string): void {
    writeFileSync(join(root, "activators.new"), text);
    renameSync(join(root, "activators.new"), join(root, "activators"));
  }

  it("holds one address per line, and what is none is passed over", async () => {
    write("127.0.0.1:8014\n\n# none\n[::1]:9\nhost.example:70\nnoport\n");
    expect(await createFileDirectory(root).list()).toEqual([
      { host: "127.0.0.1", port: 8_014 },
      { host: "::1", port: 9 },
      { host: "host.example", port: 70 },
    ]);
  });

  it("is empty while there is no file", async () => {
    expect(await createFileDirectory(root).list()).toEqual([]);
    const directory = createFileDirectory(join(root, "gone"));
    directory.watch(() => {});
    expect(await directory.list()).toEqual([]);
    directory.stop();
  });

  it("tells when it was replaced", async () => {
    const directory = createFileDirectory(root);
    let changes = 0;
    directory.watch(() => (changes += 1));
    write("127.0.0.1:1\n");
    await eventually(() => changes > 0);
    changes = 0;
    write("127.0.0.1:2\n");
    await eventually(() => changes > 0);
    directory.stop();
  });
});

describe("lives", () => {
  it("are told apart by a note in the pod", () => {
    expect(beginLife(root, 1_000.5)).toEqual({ boot: 1_000, isRestart: false });
    expect(beginLife(root, 2_000)).toEqual({ boot: 2_000, isRestart: true });
  });

  it("have growing numbers when the clock is set back, or damaged notes", () => {
    beginLife(root, 5_000);
    expect(beginLife(root, 10)).toEqual({ boot: 5_001, isRestart: true });
    writeFileSync(join(root, "dev/shm/pilotlight-boot"), "nonsense");
    expect(beginLife(root, 10)).toEqual({ boot: 10, isRestart: false });
  });

  it("go on where nothing can be written", () => {
    mkdirSync(join(root, "dev"));
    writeFileSync(join(root, "dev/shm"), "a file where a folder should be");
    expect(beginLife(root, 7)).toEqual({ boot: 7, isRestart: false });
  });
});

it("the token is read anew, the name once", () => {
  let now = 0;
  const identity = createPodIdentity(root, () => now);
  expect(identity.uid()).toBe("");
  expect(identity.token()).toBeUndefined();
  writeToken(root, "one");
  now = 999;
  expect(identity.uid()).toBe("");
  now = 1_000;
  expect(identity.uid()).toBe("one");
  writeToken(root, "two");
  expect(identity.token()).toBe(tokenOf("two"));
  expect(identity.uid()).toBe("one");
});
