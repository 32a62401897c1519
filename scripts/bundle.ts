/** One process of ours as one file; shared by the sidecar of local mode and by the images. */
import { rolldown } from "rolldown";
import type { Plugin } from "rolldown";

export interface BundleOptions {
  readonly input: string;
  readonly file: string;
  readonly sourcemap: boolean;
}

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

export async function bundle({ input, file, sourcemap }: BundleOptions): Promise<void> {
  const build = await rolldown({
    input,
    platform: "node",
    plugins: [lazyBuiltins],
    logLevel: "warn",
  });
  await build.write({ file, format: "esm", sourcemap, codeSplitting: false });
  await build.close();
}
