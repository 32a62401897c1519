/** What was learnt of a revision: how fast each kind of card is, and the weight of speed. */
import { h } from "../lib/dom.js";
import { ago } from "../lib/format.js";
import { panel } from "./words.js";

/** What made the platform choose anew. @type {Readonly<Record<string, string>>} */
const WHY = {
  "pool-changed": "cards came or went",
  "prediction-missed": "latency was not as foreseen",
  "time-passed": "it was due",
  "rolled-back": "taken back, the one before was better",
};

/** As long as nobody chose. */
const INITIAL_ALPHA = 0.3;

/**
 * @param {readonly import("../types.ts").RevisionView[]} revisions
 * @param {number} nowAt
 */
export function learnt(revisions, nowAt) {
  const known = revisions.filter(
    (revision) => Object.keys(revision.learnt?.cards ?? {}).length > 0,
  );
  if (known.length === 0) return [];
  return [
    panel(
      "Cards and alpha",
      h(
        "table",
        { class: "cards learnt" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["Revision", "Card", "Reads", "Writes", "Calls", "Off by"].map((name) =>
              h("th", { scope: "col" }, name),
            ),
          ),
        ),
        h("tbody", {}, ...known.flatMap(cardRows)),
      ),
      ...known.map((revision) => h("p", { class: "hint" }, alphaWords(revision, nowAt))),
    ),
  ];
}

/** @param {import("../types.ts").RevisionView} revision */
function cardRows({ name, learnt: found }) {
  return Object.entries(found?.cards ?? {}).map(([card, { profile, calls, error, stagesOff }]) =>
    h(
      "tr",
      { "data-key": `${name}/${card}` },
      h("th", { scope: "row" }, name),
      cell("Card", `${card} x${found?.pool[card] ?? 0}`),
      cell("Reads", `${Math.round(profile.prefillTokensPerS)} tokens/s`),
      cell("Writes", `${(profile.tokenUs / 1_000).toFixed(2)} ms/token`),
      cell("Calls", String(calls)),
      cell("Off by", errorWords({ error, stagesOff })),
    ),
  );
}

/**
 * Mean error of a card, and the stages that have been off for long.
 * @param {{ error: number, stagesOff?: Readonly<Record<string, number>> | undefined }} card
 */
export function errorWords({ error, stagesOff = {} }) {
  const percent = (/** @type {number} */ part) => `${Math.round(part * 100)} %`;
  const off = Object.entries(stagesOff).map(([stage, by]) => `${stage || "others"} ${percent(by)}`);
  return [percent(error), ...off].join(", ");
}

/** @param {string} label @param {string} text */
function cell(label, text) {
  return h("td", { "data-label": label }, text);
}

/**
 * Which alpha holds, since when and why.
 * @param {Pick<import("../types.ts").RevisionView, "name" | "learnt">} revision
 * @param {number} nowAt
 */
export function alphaWords({ name, learnt: found }, nowAt) {
  const choice = found?.alpha ?? null;
  if (choice === null) return `${name}: alpha ${INITIAL_ALPHA}, where it begins.`;
  const { alpha, version, previous, reason, at, window } = choice;
  return (
    `${name}: alpha ${alpha}, version ${version}, ${ago(nowAt - at)} (${WHY[reason] ?? reason}, ` +
    `${window} workflows; ${previous} before).`
  );
}
