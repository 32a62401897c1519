/** The adapters of local mode: pods as child processes, services as files, status as a file. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../foundation/clock.ts";
import { Loader } from "../../local/loader.ts";
import { ServiceBook } from "../../local/object-files.ts";
import { ScalerStatuses } from "../../local/status.ts";
import { startPodBench } from "../support/local-pods.ts";
import { testObjectSource, testStatusSink } from "./object-source.ts";
import type { ObjectSourceRig } from "./object-source.ts";
import { testScaleTarget } from "./scale-target.ts";

testScaleTarget("local child pods", async () => {
  const bench = await startPodBench();
  return {
    target: bench.pods,
    define: (name) => Promise.resolve(bench.define(name)),
    defineFailing: (name) => {
      return Promise.resolve(bench.define(name, { env: { CRASH: "no such model" } }));
    },
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
});

testObjectSource("local service files", openFiles);

async function openFiles(): Promise<ObjectSourceRig> {
  const folder = await mkdtemp(join(tmpdir(), "pilotlight-contract-"));
  const book = new ServiceBook(systemClock, () => undefined);
  const loader = new Loader({
    book,
    hostEnv: { PATH: process.env["PATH"] },
    onError: ({ text }) => {
      throw new Error(text);
    },
    onWarning: () => undefined,
  });
  const forget = setInterval(() => book.forgetUnreachable(() => false), 200);
  const file = (name: string): string => join(folder, `${name}.yaml`);
  return {
    source: book,
    put: async (name, text) => {
      await writeFile(file(name), text);
      await loader.load([file(name)]);
    },
    remove: async (name) => {
      await rm(file(name));
      await loader.load([file(name)]);
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(forget);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

testStatusSink("local statuses", () => {
  const sink = new ScalerStatuses(() => undefined);
  return Promise.resolve({
    sink,
    keys: ["default/one-00001", "default/two-00001"],
    read: (key) => Promise.resolve(sink.get(key)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
});
