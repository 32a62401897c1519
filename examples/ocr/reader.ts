/**
 * The OCR model: one Tesseract worker, loaded from files of an npm package, never from the network.
 * It reads one page at a time; a page whose caller left is stopped by replacing the worker, because
 * the engine cannot be interrupted.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { OEM, createWorker } from "tesseract.js";
import type { Worker } from "tesseract.js";

export interface Reading {
  readonly text: string;
  /** Per cent, as the engine judges itself. */
  readonly confidence: number;
}

export class Reader {
  #worker: Promise<Worker> = loadWorker();
  #loaded = false;
  readonly #onLoaded: () => void;

  constructor(onLoaded: () => void = () => undefined) {
    this.#onLoaded = onLoaded;
    this.#watch();
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  /** Waits for the model when it is loading. */
  async read(png: Buffer, signal: AbortSignal): Promise<Reading> {
    const worker = await this.#worker;
    signal.throwIfAborted();
    const left = Promise.withResolvers<never>();
    const onLeave = (): void => {
      this.#replace(worker);
      left.reject(signal.reason);
    };
    signal.addEventListener("abort", onLeave, { once: true });
    try {
      const { data } = await Promise.race([worker.recognize(png), left.promise]);
      return { text: data.text, confidence: data.confidence };
    } finally {
      signal.removeEventListener("abort", onLeave);
    }
  }

  async close(): Promise<void> {
    const worker = await this.#worker.catch(() => undefined);
    await worker?.terminate();
  }

  #replace(worker: Worker): void {
    this.#loaded = false;
    this.#worker = worker.terminate().then(loadWorker);
    this.#watch();
  }

  #watch(): void {
    this.#worker.then(
      () => {
        this.#loaded = true;
        this.#onLoaded();
      },
      (error: unknown) => {
        console.error("The model could not be loaded.", error);
        process.exitCode = 1;
        process.kill(process.pid, "SIGTERM");
      },
    );
  }
}

function loadWorker(): Promise<Worker> {
  const manifest = createRequire(import.meta.url).resolve("@tesseract.js-data/eng/package.json");
  return createWorker("eng", OEM.LSTM_ONLY, {
    // The integer model: a quarter of the size and memory of the full one.
    langPath: join(dirname(manifest), "4.0.0_best_int"),
    gzip: true,
    cacheMethod: "none",
    // Without a handler a page that cannot be read would end the process.
    errorHandler: () => undefined,
  });
}
