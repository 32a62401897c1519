/** One process of ours as one file; shared by the sidecar of local mode and by the images. */
import { rolldown } from "rolldown";
import type { Plugin } from "rolldown";

export interface BundleOptions {
  readonly input: string;
  readonly file: string;
  readonly sourcemap: boolean;
}

const COMMON = { platform: "node", logLevel: "warn" } as const;

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

/** A script by itself, which `node:vm` can compile: nothing is imported, and nothing leaks out. */
const asScript: Plugin = {
  name: "as-script",
  renderChunk: (code) => {
    const own = code.replaceAll(
      /\brequire\("(node:[a-z0-9/]+)"\)/g,
      'process.getBuiltinModule("$1")',
    );
    const rest = /\b(?:require|import)\("[^"]*"\)/.exec(own);
    if (rest !== null) throw new Error(`${rest[0]}: a script of node:vm cannot import`);
    return { code: `(() => {"use strict";${own}\n})();\n`, map: null };
  },
};

/** A module of Node. */
export async function bundle({ input, file, sourcemap }: BundleOptions): Promise<void> {
  const build = await rolldown({ ...COMMON, input, plugins: [lazyBuiltins] });
  await build.write({ file, format: "esm", sourcemap, codeSplitting: false });
  await build.close();
}

/** A script that runs in any context, also by `require`. */
export async function bundleScript({ input, file, sourcemap }: BundleOptions): Promise<void> {
  const build = await rolldown({ ...COMMON, input, plugins: [asScript] });
  await build.write({ file, format: "cjs", sourcemap, codeSplitting: false });
  await build.close();
}
