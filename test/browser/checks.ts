/** What every page must be: without errors, within its width, readable, usable by keyboard. */
import { readFileSync } from "node:fs";
import type { Tab } from "./tab.ts";

const LOOK = readFileSync(new URL("./in-page.js", import.meta.url), "utf8");
/** Presses of the key that a reader has the patience for here. */
const MOST_STOPS = 60;

interface Looked {
  readonly scrollsSideways: boolean;
  readonly wide: readonly string[];
  readonly faint: readonly string[];
  readonly unnamed: readonly string[];
  readonly headings: number;
  readonly language: string;
}

export async function faultsOf(tab: Tab): Promise<string[]> {
  const looked = await tab.evaluate<Looked>(LOOK);
  const faults = [...new Set(tab.problems)];
  if (looked.scrollsSideways) faults.push(`scrolls sideways: ${looked.wide.join(", ")}`);
  if (looked.faint.length > 0) faults.push(`too little contrast: ${looked.faint.join("; ")}`);
  if (looked.unnamed.length > 0) faults.push(`no name for: ${looked.unnamed.join("; ")}`);
  if (looked.headings !== 1) faults.push(`${looked.headings} headings of the first level`);
  if (looked.language === "") faults.push("no language");
  return faults;
}

/** Goes through the page by Tab: every stop can be seen, and none is left out or a trap. */
export async function keyboardFaultsOf(tab: Tab): Promise<string[]> {
  const wanted = await tab.evaluate<number>(
    `[...document.querySelectorAll("a[href], button, summary, [tabindex='0']")].filter((element) => element.checkVisibility()).length`,
  );
  await tab.evaluate("document.activeElement?.blur(); scrollTo(0, 0)");
  const seen = new Set<string>();
  const unseen: string[] = [];
  for (let press = 0; press < Math.min(wanted, MOST_STOPS); press += 1) {
    await tab.press("Tab");
    const stop = await tab.evaluate<{ readonly name: string; readonly isShown: boolean }>(`(() => {
      const element = document.activeElement;
      const style = getComputedStyle(element);
      const all = [...document.querySelectorAll("*")];
      return {
        name: all.indexOf(element) + " " + element.tagName + " " + (element.ariaLabel ?? element.textContent ?? "").trim().slice(0, 30),
        isShown: style.outlineStyle !== "none" && element.tagName !== "BODY",
      };
    })()`);
    if (seen.has(stop.name)) break;
    seen.add(stop.name);
    if (!stop.isShown && !stop.name.includes("BODY")) unseen.push(stop.name);
  }
  const faults: string[] = [];
  if (unseen.length > 0) faults.push(`focus cannot be seen on: ${unseen.slice(0, 3).join("; ")}`);
  // The page is drawn anew while we go: a few stops come and go.
  if (seen.size < Math.min(wanted, MOST_STOPS) * 0.8) {
    faults.push(`Tab reaches ${seen.size} of ${wanted} places`);
  }
  return faults;
}
