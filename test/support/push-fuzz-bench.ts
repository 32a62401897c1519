/** A real activator over a real store, and one pod in whose name the push fuzzer speaks. */
import { fuzzPushes } from "../fuzz/push.ts";
import type { FuzzOptions, FuzzResult } from "../fuzz/request-head.ts";
import { ActivatorBench, REVISION, SECRET } from "./activator-bench.ts";
import { startValkey } from "./valkey.ts";

export async function fuzzPushesAtActivator(options: FuzzOptions): Promise<FuzzResult> {
  const valkey = await startValkey();
  const bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  try {
    await bench.configure();
    const { push } = await bench.activator();
    const { uid, address, port } = await bench.pod();
    return await fuzzPushes({
      ...options,
      push,
      pod: { uid, address, port, revision: REVISION, secret: SECRET },
      targets: () => bench.store.readTargets(REVISION),
    });
  } finally {
    await bench.close();
    await valkey.stop();
  }
}
