/** One tab: goes to a page, waits for what it should show, tells what went wrong, takes its picture. */
import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Cdp } from "./cdp.ts";

export const THEMES = ["light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const LOOK_EVERY_MS = 100;
const SHOW_MS = 30_000;
/** A picture of a page that grows without end says nothing. */
const MOST_HEIGHT = 6_000;

export class Tab {
  readonly #cdp: Cdp;
  readonly #session: string;
  readonly #target: string;
  readonly #off: (() => void)[] = [];
  /** Errors of the page since the last `clear`. */
  readonly problems: string[] = [];
  /** Event streams that are open. */
  readonly streams = new Set<string>();

  private constructor(cdp: Cdp, session: string, target: string) {
    this.#cdp = cdp;
    this.#session = session;
    this.#target = target;
    this.#listen();
  }

  static async open(cdp: Cdp): Promise<Tab> {
    const { targetId } = await cdp.send<{ readonly targetId: string }>("Target.createTarget", {
      url: "about:blank",
    });
    const { sessionId } = await cdp.send<{ readonly sessionId: string }>("Target.attachToTarget", {
      targetId,
      flatten: true,
    });
    const tab = new Tab(cdp, sessionId, targetId);
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await tab.send(`${domain}.enable`);
    return tab;
  }

  send<T = unknown>(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<T> {
    return this.#cdp.send<T>(method, params, this.#session);
  }

  async look(width: number, theme: Theme): Promise<void> {
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height: width < 600 ? 844 : 900,
      deviceScaleFactor: width < 600 ? 2 : 1,
      mobile: width < 600,
    });
    await this.send("Emulation.setEmulatedMedia", {
      features: [
        { name: "prefers-color-scheme", value: theme },
        { name: "prefers-reduced-motion", value: "reduce" },
      ],
    });
  }

  async go(url: string): Promise<void> {
    await this.send("Page.navigate", { url });
  }

  /** What an expression in the page gives; promises are waited for. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.send<{
      readonly result: { readonly value: T };
      readonly exceptionDetails?: { readonly exception?: { readonly description?: string } };
    }>("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails === undefined) return result.value;
    throw new Error(exceptionDetails.exception?.description ?? `failed: ${expression}`);
  }

  /** Waits until the page shows what it should; says what it shows instead. */
  async shows(selector: string): Promise<void> {
    const deadline = performance.now() + SHOW_MS;
    const isThere = `document.querySelector(${JSON.stringify(selector)}) !== null`;
    while (!(await this.evaluate<boolean>(isThere))) {
      if (performance.now() > deadline) {
        const text = await this.evaluate<string>("document.body.innerText.slice(0, 300)");
        throw new Error(`does not show ${selector}; it shows: ${text}`);
      }
      await delay(LOOK_EVERY_MS);
    }
  }

  async press(key: string): Promise<void> {
    const code = key === "Tab" ? 9 : 13;
    const common = { key, code: key, windowsVirtualKeyCode: code };
    await this.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...common });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...common });
  }

  /** The page from its top. */
  async picture(path: string, mostHeight = MOST_HEIGHT): Promise<void> {
    const { cssContentSize } = await this.send<{
      readonly cssContentSize: { readonly width: number; readonly height: number };
    }>("Page.getLayoutMetrics");
    const { data } = await this.send<{ readonly data: string }>("Page.captureScreenshot", {
      format: "png",
      captureBeyondViewport: true,
      clip: {
        x: 0,
        y: 0,
        width: cssContentSize.width,
        height: Math.min(cssContentSize.height, mostHeight),
        scale: 1,
      },
    });
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  async close(): Promise<void> {
    for (const off of this.#off) off();
    await this.#cdp.send("Target.closeTarget", { targetId: this.#target });
  }

  #listen(): void {
    const on = (method: string, take: (params: never) => void): void => {
      this.#off.push(
        this.#cdp.on(method, (params, session) => {
          // The protocol's own types; each listener names what it reads.
          if (session === this.#session) take(params as never);
        }),
      );
    };
    on("Runtime.exceptionThrown", (params: { exceptionDetails: { text: string } }) => {
      this.problems.push(`exception: ${params.exceptionDetails.text}`);
    });
    on("Log.entryAdded", (params: { entry: { level: string; text: string; url?: string } }) => {
      const { level, text, url = "" } = params.entry;
      if (level === "error") this.problems.push(`${text} ${url}`.trim());
    });
    on("Network.requestWillBeSent", (params: { requestId: string; type?: string }) => {
      if (params.type === "EventSource") this.streams.add(params.requestId);
    });
    for (const end of ["Network.loadingFinished", "Network.loadingFailed"]) {
      on(end, (params: { requestId: string }) => this.streams.delete(params.requestId));
    }
  }
}
