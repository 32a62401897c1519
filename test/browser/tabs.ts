/** Eight tabs of one browser (field report F29): every call still ends soon, over one stream. */
import { setTimeout as delay } from "node:timers/promises";
import type { Cdp } from "./cdp.ts";
import { Tab } from "./tab.ts";

const TABS = 8;
const MOST_MS = 1_000;
/** For streams to be handed over and given up. */
const SETTLE_MS = 20_000;

export async function tabsFault(cdp: Cdp, url: string): Promise<string[]> {
  const tabs: Tab[] = [];
  try {
    for (let index = 0; index < TABS; index += 1) {
      const tab = await Tab.open(cdp);
      tabs.push(tab);
      await tab.go(url);
      await tab.shows(".services tbody tr");
    }
    const faults: string[] = [];
    const last = tabs.at(-1);
    const tookMs = await last?.evaluate<number>(`(async () => {
      const startedAt = performance.now();
      await (await fetch("api/snapshot")).json();
      return performance.now() - startedAt;
    })()`);
    if ((tookMs ?? Infinity) > MOST_MS) faults.push(`a call of the last tab took ${tookMs} ms`);
    const streams = await settled(tabs);
    if (streams > 1) faults.push(`${streams} event streams are open`);
    return faults;
  } finally {
    for (const tab of tabs) await tab.close();
  }
}

async function settled(tabs: readonly Tab[]): Promise<number> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const open = tabs.reduce((sum, tab) => sum + tab.streams.size, 0);
    if (open <= 1 || performance.now() > deadline) return open;
    await delay(100);
  }
}
