/**
 * For the image: keeps what V8 compiles in a first life of the bundled queue-proxy, since its start is
 * part of every cold start (docs/decisions/0009).
 *
 *   node scripts/warm-sidecar.ts [FLAGS...] /app/queue-proxy
 */
import { warmSidecar } from "./sidecar/warm-sidecar.ts";

const flags = process.argv.slice(2);
const folder = flags.pop() ?? "";

await warmSidecar(folder, flags);
