/** The thread of one tuning run: nothing of the controller waits for its second of computing. */
import { parentPort, workerData } from "node:worker_threads";
import { tuneAlpha } from "./simulator/hexgen/tune-alpha.ts";
import type { TuningInput } from "./simulator/hexgen/tune-alpha.ts";

// Given by `tuner.ts`, as this type.
parentPort?.postMessage(tuneAlpha(workerData as TuningInput));
