/** Entry of the bundled sidecar; the sources start with `main.ts`. */
import { dirname } from "node:path";
import { compileSidecar } from "./compiled.ts";

compileSidecar(dirname(process.argv[1] ?? "")).runInThisContext();
