/** Eight tabs of one browser (field report F29): every call still ends soon, over one stream. */
import { setTimeout as delay } from "node:timers/promises";
import type { Cdp } from "./cdp.ts";
import { Tab } from "./tab.ts";

const TABS = 8;
const MOST_MS = 1_000;
const MOST_SLOWER = 4;
/** For streams to be handed over and given up. */
const SETTLE_MS = 20_000;

export async function tabsFault(cdp: Cdp, url: string): Promise<string[]> {
  const tabs: Tab[] = [];
  let aloneMs = 0;
  try {
    for (let index = 0; index < TABS; index += 1) {
      const tab = await Tab.open(cdp);
      tabs.push(tab);
      await tab.go(url);
      await tab.shows(".services tbody tr");
      if (index === 0) aloneMs = await callMs(tab);
    }
    const faults: string[] = [];
    const tookMs = await callMs(tabs.at(-1));
    // On a busy machine a call takes its time in one tab as well.
    if (tookMs > Math.max(MOST_MS, aloneMs * MOST_SLOWER)) {
      faults.push(`a call of the last tab took ${tookMs} ms, ${aloneMs} ms with one tab`);
    }
    const streams = await settled(tabs);
    if (streams > 1) faults.push(`${streams} event streams are open`);
    return faults;
  } finally {
    for (const tab of tabs) await tab.close();
  }
}

/** The best of a few: a call that waits for a connection is slow each time. */
async function callMs(tab: Tab | undefined): Promise<number> {
  const took = await tab?.evaluate<number>(`(async () => {
    const took = [];
    for (let tries = 0; tries < 5; tries += 1) {
      const startedAt = performance.now();
      await (await fetch("api/snapshot")).json();
      took.push(performance.now() - startedAt);
    }
    return Math.round(Math.min(...took));
  })()`);
  return took ?? Number.POSITIVE_INFINITY;
}

async function settled(tabs: readonly Tab[]): Promise<number> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const open = tabs.reduce((sum, tab) => sum + tab.streams.size, 0);
    if (open <= 1 || performance.now() > deadline) return open;
    await delay(100);
  }
}
