/**
 * Bundles the queue-proxy into one file, `.cache/queue-proxy/main.mjs`. Its start is part of every
 * cold start, and one file starts several times faster than many (docs/decisions/0009).
 */
import { join } from "node:path";
import { rolldown } from "rolldown";
import type { Plugin } from "rolldown";

const root = join(import.meta.dirname, "..");
const target = process.argv[2] ?? join(root, ".cache/queue-proxy/main.mjs");

/**
 * An import of `node:http` reads all its exports, one of which loads a WebSocket client of 40 ms.
 * Asking for the module object and taking what is needed does not.
 */
const lazyBuiltins: Plugin = {
  name: "lazy-builtins",
  renderChunk: (code) => ({
    code: code.replaceAll(
      /^import \{([^}]*)\} from "(node:(?:http2?|crypto|fs|path))";$/gm,
      (_line, names: string, module: string) =>
        `const {${names.replaceAll(" as ", ": ")}} = process.getBuiltinModule("${module}");`,
    ),
    // Line for line the same, so the map of the bundle still fits.
    map: null,
  }),
};

const bundle = await rolldown({
  input: join(root, "queue-proxy/main.ts"),
  platform: "node",
  plugins: [lazyBuiltins],
  logLevel: "warn",
});
await bundle.write({ file: target, format: "esm", sourcemap: true });
await bundle.close();
