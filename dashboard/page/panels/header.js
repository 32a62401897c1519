/** The bar on top: name, run, how fresh the figures are, and what is broken. */
import { h } from "../lib/dom.js";
import { ago, duration, plural } from "../lib/format.js";
import { nextTheme, themeName } from "../lib/theme.js";

/** Older figures than this are called old. */
const STALE_MS = 5_000;

const FEED_WORDS = /** @type {const} */ ({
  connecting: "connecting",
  live: "live",
  polling: "every 2 s",
  offline: "offline",
});

/**
 * @param {import("../types.ts").PageState} state
 * @param {() => void} redraw
 */
export function header({ snapshot, feed, receivedAt }, redraw) {
  const ageMs = Date.now() - receivedAt;
  const isStale = snapshot !== null && ageMs > STALE_MS;
  const tone = feed === "offline" || isStale ? "bad" : feed === "live" ? "good" : "fair";
  return h(
    "header",
    { class: "top", "data-key": "header" },
    h(
      "a",
      { class: "brand", href: "#/", "aria-label": "Pilotlight, overview" },
      flame(),
      h("span", {}, "Pilotlight"),
    ),
    snapshot !== null && runFacts(snapshot),
    h(
      "div",
      { class: "top-right" },
      h(
        "span",
        { class: `pill ${tone}`, title: "How the figures reach this page" },
        isStale ? ago(ageMs) : FEED_WORDS[feed],
      ),
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => (nextTheme(), redraw()),
          title: "Change colours",
          "aria-label": `Colours: ${themeName()}`,
        },
        `◐ ${themeName()}`,
      ),
    ),
  );
}

/** @param {import("../types.ts").Snapshot} snapshot */
function runFacts({ run, at }) {
  return h(
    "p",
    { class: "run" },
    h("span", {}, run.mode === "local" ? "on this machine" : "in a cluster"),
    // In a cluster it would be the age of this page's server.
    run.mode === "local" && h("span", {}, `up ${duration(at - run.startedAt)}`),
    run.version !== "" && h("span", {}, `version ${run.version}`),
  );
}

/**
 * What the reader must know before believing the figures.
 * @param {import("../types.ts").PageState} state
 */
export function banners({ snapshot, feed, receivedAt }) {
  const items = [];
  if (feed === "offline") {
    const last =
      receivedAt === 0 ? "" : ` The figures below are from ${ago(Date.now() - receivedAt)}.`;
    items.push(
      banner(
        "bad",
        "The dashboard's server does not answer.",
        `This page tries again by itself.${last}`,
      ),
    );
  }
  if (snapshot?.store.state === "down") {
    items.push(
      banner(
        "bad",
        "The store cannot be read.",
        `Reason: ${snapshot.store.reason.replace(/\.$/, "")}. Charts pause until it answers.`,
      ),
    );
  }
  const down = snapshot?.activators.filter(({ state }) => state !== "ready") ?? [];
  if (down.length > 0) {
    const names = down.map(
      ({ id, state, reason }) => `${id} is ${state}${reason === "" ? "" : `: ${reason}`}`,
    );
    items.push(
      banner(
        "fair",
        plural(down.length, "activator needs a look", "activators need a look"),
        names.join("; "),
      ),
    );
  }
  return h("div", { class: "banners", role: "alert", "data-key": "banners" }, ...items);
}

/** @param {"bad" | "fair"} tone @param {string} title @param {string} text */
function banner(tone, title, text) {
  return h(
    "div",
    { class: `banner ${tone}`, "data-key": title },
    h("strong", {}, title),
    h("span", {}, text),
  );
}

function flame() {
  return h(
    "svg",
    { class: "flame", viewBox: "0 0 32 32", "aria-hidden": "true" },
    h("path", {
      class: "flame-outer",
      d: "M17 2c1 6 8 9 8 17a9 9 0 0 1-18 0c0-4 2-6 4-8 0 3 1 4 2 5 2-5 1-9 4-14z",
    }),
    h("path", { class: "flame-inner", d: "M16 17c1 3 4 4 4 7a4 4 0 0 1-8 0c0-3 3-4 4-7z" }),
  );
}
