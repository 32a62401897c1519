/**
 * Bundles the queue-proxy into a folder, `.cache/queue-proxy` if none is named, with what V8 compiles of
 * it. Its start is part of every cold start (docs/decisions/0009).
 */
import { join } from "node:path";
import { SIDECAR_NODE_FLAGS } from "../local/sidecar.ts";
import { bundleSidecar } from "./sidecar/bundle-sidecar.ts";
import { warmSidecar } from "./sidecar/warm-sidecar.ts";

const folder = process.argv[2] ?? join(import.meta.dirname, "../.cache/queue-proxy");

await bundleSidecar(folder, true);
await warmSidecar(folder, SIDECAR_NODE_FLAGS);
