/**
 * Bundles the queue-proxy into one file, `.cache/queue-proxy/main.mjs`. Its start is part of every
 * cold start, and one file starts several times faster than many (docs/decisions/0009).
 */
import { join } from "node:path";
import { bundle } from "./bundle.ts";

const root = join(import.meta.dirname, "..");
const file = process.argv[2] ?? join(root, ".cache/queue-proxy/main.mjs");

await bundle({ input: join(root, "queue-proxy/main.ts"), file, sourcemap: true });
