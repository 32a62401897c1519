/** Runs the alpha tuner in a thread of its own, one run per thread, with a limit. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { PlatformError } from "../common/errors.ts";
import type { TuningInput, TuningResult } from "./simulator/hexgen/tune-alpha.ts";

export type Tuner = (input: TuningInput) => Promise<TuningResult>;

/** Twenty times what it should take: beyond it something is wrong with the input. */
const LIMIT_MS = 20_000;

export const tuneInThread: Tuner = (input) => {
  // Beside this file in the sources, in dist and beside a bundle alike.
  const file = new URL(`./tuner-worker${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(file, { workerData: input });
  return new Promise<TuningResult>((resolve, reject) => {
    const limit = setTimeout(() => {
      reject(new PlatformError("ERR_INTERNAL", `The tuner took longer than ${LIMIT_MS} ms.`));
    }, LIMIT_MS);
    limit.unref();
    worker.once("message", (result: TuningResult) => resolve(result));
    worker.once("error", reject);
    worker.once("exit", (code) => {
      clearTimeout(limit);
      reject(new PlatformError("ERR_INTERNAL", `The tuner ended with code ${code}.`));
    });
  }).finally(() => void worker.terminate());
};
