/** The parts that carry the traffic: activators and the store. */
import { h } from "../lib/dom.js";
import { duration, plural } from "../lib/format.js";
import { panel } from "./words.js";

/** @param {import("../types.ts").Snapshot} snapshot */
export function health({ activators, store, run }) {
  return panel(
    "Platform",
    h(
      "ul",
      { class: "health" },
      item("Store", store.state === "ready" ? "good" : "bad", {
        word: store.state === "ready" ? `read in ${duration(store.readMs)}` : "down",
        text: store.reason || run.storeUrl,
      }),
      ...activators.map((activator) => {
        const { id, state } = activator;
        const tone = state === "ready" ? "good" : state === "down" ? "bad" : "fair";
        return item(id, tone, { word: state, text: activatorWords(activator) });
      }),
      activators.length === 0 &&
        item("Activators", "bad", { word: "none", text: "No activator is known." }),
      run.ingressUrl !== "" && item("Entrance", "good", { word: "open", text: run.ingressUrl }),
    ),
  );
}

/** @param {import("../../facts.ts").ActivatorInfo} activator */
function activatorWords({ reason, url, waiting, running, pods }) {
  if (reason !== "") return reason;
  if (running === undefined || waiting === undefined || pods === undefined) return url;
  return `${running} running, ${waiting} waiting, ${plural(pods, "pod")} pushing; ${url}`;
}

/** @param {string} name @param {"good" | "fair" | "bad"} tone @param {{ word: string, text: string }} facts */
function item(name, tone, { word, text }) {
  return h(
    "li",
    { "data-key": name },
    h("b", {}, name),
    h("span", { class: `pill ${tone}` }, word),
    h("span", { class: "soft mono" }, text),
  );
}
