/**
 * Eight tabs of one browser (field report F29), as it is written there: pages and calls end within a
 * second, at most one stream is open, and none in a hidden tab.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Cdp } from "./cdp.ts";
import { Tab } from "./tab.ts";

const TABS = 8;
const MOST_MS = 1_000;
/** As many as a browser has connections to one origin: streams of other tabs would leave too few. */
const CALLS = 6;
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
    const streams = await settled(tabs);
    if (streams !== 1) faults.push(`${streams} event streams are open, not one`);
    for (const [index, tab] of tabs.entries()) {
      const isHidden = await tab.evaluate<boolean>("document.hidden");
      if (isHidden && tab.streams.size > 0)
        faults.push(`tab ${index + 1} is hidden and has a stream`);
      const tookMs = await callsMs(tab);
      if (tookMs > MOST_MS) faults.push(`${CALLS} calls of tab ${index + 1} took ${tookMs} ms`);
    }
    return faults;
  } finally {
    for (const tab of tabs) await tab.close();
  }
}

/** All of them at once, each on a connection of its own. */
async function callsMs(tab: Tab): Promise<number> {
  return tab.evaluate<number>(`(async () => {
    const startedAt = performance.now();
    const call = async () => (await fetch("api/snapshot")).json();
    await Promise.all(Array.from({ length: ${CALLS} }, call));
    return Math.round(performance.now() - startedAt);
  })()`);
}

async function settled(tabs: readonly Tab[]): Promise<number> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const open = tabs.reduce((sum, tab) => sum + tab.streams.size, 0);
    if (open === 1 || performance.now() > deadline) return open;
    await delay(100);
  }
}
