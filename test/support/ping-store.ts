/**
 * Connects to the store of PILOTLIGHT_STORE_URL as a process of ours does, and prints what serves
 * there: for tests whose authority must be known when Node starts.
 */
import { createStore } from "../../store/store.ts";

const url = process.env["PILOTLIGHT_STORE_URL"] ?? "";
const store = createStore({ url, prefix: "pl", timeoutMs: 8_000 });
try {
  await store.ready();
  process.stdout.write(JSON.stringify(await store.server()));
} catch (error) {
  process.stdout.write(String(error));
} finally {
  await store.close();
}
