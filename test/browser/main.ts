/**
 * `npm run test:browser -- --json FILE`: Chromium looks at every page of a running platform under
 * load, at three widths and in both themes, and takes its pictures. Ends with 0 only when every
 * page is without errors, readable, within its width and usable by keyboard.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { errorText } from "../../common/errors.ts";
import { ReportBuilder, exitCodeOf, writeReport } from "../../foundation/report.ts";
import type { RunRecord } from "../../common/contracts/local-run.ts";
import { CELLS_PAGE, startCellsStage } from "./cells.ts";
import { faultsOf, keyboardFaultsOf } from "./checks.ts";
import { findChromium, startChromium } from "./chromium.ts";
import type { Browser } from "./chromium.ts";
import { PAGES, STORE_DOWN } from "./pages.ts";
import type { PageSpec } from "./pages.ts";
import { startRig } from "./rig.ts";
import type { Rig } from "./rig.ts";
import { tabsFault } from "./tabs.ts";
import { THEMES, Tab } from "./tab.ts";
import type { Theme } from "./tab.ts";

const WIDTHS = [1280, 390, 320] as const;
/** What a reader of a document sees of a phone's page. */
const TWO_SCREENS = 1_688;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KEPT = join(ROOT, "docs/images");
const CACHE = join(ROOT, ".cache/pages");

const { values } = parseArgs({ options: { json: { type: "string" }, only: { type: "string" } } });
const report = new ReportBuilder("test:browser");
let failed = 0;

const program = findChromium();
if (program === null) {
  throw new Error(
    "No Chromium: install Debian's package `chromium`, or set PILOTLIGHT_CHROMIUM to its path.",
  );
}
for (const folder of [KEPT, CACHE]) mkdirSync(folder, { recursive: true });
process.on("SIGINT", () => finish(130));
process.on("SIGTERM", () => finish(143));

const browser = await startChromium(program);
try {
  report.note(browser.version);
  await judgeTheJudge(browser);
  if (isChosen(CELLS_PAGE)) await judgeCells(browser);
  if ([...PAGES, STORE_DOWN].some(isChosen)) await judgePlatform(browser);
  report.complete();
} finally {
  await browser.stop();
}
report.row({ id: "pages.failed", value: failed, unit: "count", must: "0", goal: "0" });
finish(exitCodeOf(report.report()));

function isChosen({ name }: PageSpec): boolean {
  return values.only === undefined || values.only.split(",").includes(name);
}

async function judgeCells(browser: Browser): Promise<void> {
  const stage = await startCellsStage();
  try {
    noteStore(stage.platform);
    await judgePage(browser, stage, CELLS_PAGE);
  } finally {
    await stage.stop();
  }
}

async function judgePlatform(browser: Browser): Promise<void> {
  const rig = await startRig();
  try {
    noteStore(rig.platform);
    for (const page of PAGES.filter(isChosen)) await judgePage(browser, rig, page);
    if (isChosen(STORE_DOWN)) await judgeStoreDown(browser, rig);
    // The bar of field report F29 is about the dashboard, not about a machine that has other work.
    await rig.rest();
    await judgeTabs(browser, rig);
  } finally {
    await rig.stop();
  }
}

function noteStore({ storeFacts }: Rig["platform"]): void {
  report.store(storeFacts.version, storeFacts.name === "redis");
}

async function judgePage(
  { cdp }: Browser,
  { platform }: Pick<Rig, "platform">,
  page: PageSpec,
): Promise<void> {
  const tab = await Tab.open(cdp);
  try {
    for (const theme of THEMES) {
      for (const width of WIDTHS) {
        await judgeLook(tab, { page, width, theme, url: page.url(platform) });
      }
    }
  } finally {
    await tab.close();
  }
}

/** A page with every fault: a check that finds none of them finds nothing anywhere. */
async function judgeTheJudge({ cdp }: Browser): Promise<void> {
  const tab = await Tab.open(cdp);
  await tab.look(WIDTHS[1], "light");
  const bad =
    "<p style='color:#999'>faint</p><button></button><div style='width:2000px;height:9px'>x</div>";
  await tab.go(`data:text/html,${encodeURIComponent(bad)}`);
  await tab.shows("button");
  const found = await faultsOf(tab);
  await tab.close();
  const wanted = ["scrolls sideways", "too little contrast", "no name for", "0 headings"];
  const missed = wanted.filter((fault) => !found.some((text) => text.startsWith(fault)));
  const faults = missed.map((fault) => `not seen on a bad page: ${fault}`);
  note({ page: "checks", width: WIDTHS[1], theme: "light", faults, screenshot: "" });
}

interface Look {
  readonly page: PageSpec;
  readonly width: number;
  readonly theme: Theme;
  readonly url: string;
}

async function judgeLook(tab: Tab, { page, width, theme, url }: Look): Promise<void> {
  const path = picturePath(page, width, theme);
  const faults: string[] = [];
  try {
    await tab.look(width, theme);
    tab.problems.length = 0;
    await tab.go("about:blank");
    await tab.go(url);
    for (const selector of page.shows) await tab.shows(selector);
    if (page.act !== undefined) await tab.evaluate(page.act);
    faults.push(...(await faultsOf(tab)));
    await tab.picture(path, path.startsWith(KEPT) && width < WIDTHS[0] ? TWO_SCREENS : undefined);
    if (theme === "light" && width === WIDTHS[0]) faults.push(...(await keyboardFaultsOf(tab)));
  } catch (error) {
    faults.push(errorText(error));
  }
  note({ page: page.name, width, theme, faults, screenshot: relative(ROOT, path) });
}

function picturePath({ name, isKept }: PageSpec, width: number, theme: Theme): string {
  // The picture of the README keeps its name.
  const base = name === "overview" ? "dashboard" : `dashboard-${name}`;
  const size = width === WIDTHS[0] ? "" : width === WIDTHS[1] ? "-phone" : `-${width}`;
  const file = `${base}${size}${theme === "light" ? "" : "-dark"}.png`;
  const isShown = width === WIDTHS[0] || (width === WIDTHS[1] && theme === "light");
  return join(isKept === true && isShown ? KEPT : CACHE, file);
}

/** The server stands still for the time of a look; the page says so, and comes back by itself. */
async function judgeStoreDown({ cdp }: Browser, { platform }: Rig): Promise<void> {
  const run = JSON.parse(readFileSync(join(platform.runFolder, "run.json"), "utf8")) as RunRecord;
  const pid = run.storePid ?? 0;
  const tab = await Tab.open(cdp);
  process.kill(pid, "SIGSTOP");
  try {
    for (const width of [WIDTHS[0], WIDTHS[1]]) {
      const url = STORE_DOWN.url(platform);
      await judgeLook(tab, { page: STORE_DOWN, width, theme: "light", url });
    }
  } finally {
    process.kill(pid, "SIGCONT");
  }
  const faults: string[] = [];
  await tab.shows(".services .pod.target-ready").catch((error: unknown) => {
    faults.push(`after the store came back: ${errorText(error)}`);
  });
  note({ page: "store-back", width: WIDTHS[1], theme: "light", faults, screenshot: "" });
  await tab.close();
}

async function judgeTabs({ cdp }: Browser, { platform }: Rig): Promise<void> {
  const faults = await tabsFault(cdp, platform.urls.dashboard).catch((error: unknown) => [
    errorText(error),
  ]);
  note({ page: "eight-tabs", width: WIDTHS[0], theme: "light", faults, screenshot: "" });
}

interface Judged {
  readonly page: string;
  readonly width: number;
  readonly theme: Theme;
  readonly faults: readonly string[];
  readonly screenshot: string;
}

function note({ faults, ...row }: Judged): void {
  const verdict = faults.length === 0 ? "pass" : "fail";
  if (faults.length > 0) failed += 1;
  const { page, width, theme, screenshot } = row;
  report.addToTable("pages", { page, width, theme, verdict, screenshot });
  for (const fault of faults) report.addToTable("faults", { page, width, theme, fault });
  const place = `${page} ${width} ${theme}`;
  process.stdout.write(`${place.padEnd(24)} ${verdict} ${faults.join(" | ")}\n`);
}

function finish(code: number): never {
  if (values.json !== undefined) writeReport(report.report(), values.json);
  process.exit(code);
}
