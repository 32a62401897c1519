/** The pages of a running platform, and what each must show before it is judged. */
import type { Platform } from "../../local/main.ts";
import { WORKFLOW_SERVICE } from "./workflows.ts";

export interface PageSpec {
  readonly name: string;
  url(platform: Platform): string;
  /** Run in the page once it shows all that. */
  readonly act?: string;
  /** All of them appear, in any order. */
  readonly shows: readonly string[];
  /** Kept in the repository at 1280 and 390 points; all others are left in the cache. */
  readonly isKept?: boolean;
}

const dashboard =
  (hash: string) =>
  ({ urls }: Platform): string =>
    `${urls.dashboard}/${hash}`;

export const PAGES: readonly PageSpec[] = [
  {
    name: "overview",
    url: dashboard(""),
    shows: [
      ".services tbody tr:nth-child(6)",
      ".pod.target-ready",
      ".waterfalls li",
      ".workflows li",
    ],
    isKept: true,
  },
  {
    name: "workflow",
    url: dashboard(""),
    shows: [".workflows .stage-within", ".workflows .stage-limit", ".workflows li:nth-child(6)"],
    // The first that is over: its stages with budget and debt.
    act: `[...document.querySelectorAll(".workflows details")]
      .find((row) => !row.innerText.includes("running")).open = true`,
  },
  {
    name: "cards",
    url: dashboard(`#/default/${WORKFLOW_SERVICE}`),
    shows: [".targets tbody tr:nth-child(2)", ".learnt tbody tr:nth-child(2)", ".learnt + .hint"],
    isKept: true,
  },
  {
    name: "service",
    url: dashboard("#/default/batch"),
    shows: [".targets tbody tr", ".traffic .phases", ".runs tbody tr", ".chart path.area"],
    isKept: true,
  },
  {
    name: "model",
    url: dashboard("#/default/llm"),
    shows: [".targets tbody tr", ".chart path.area", ".decisions li"],
  },
  { name: "failing", url: dashboard("#/default/whisper"), shows: [".service-head .banner.bad"] },
  { name: "not-found", url: dashboard("#/default/nobody"), shows: [".empty"] },
];

/** With the store stopped for a moment. */
export const STORE_DOWN: PageSpec = {
  name: "store-down",
  url: dashboard(""),
  shows: [".banners .banner.bad"],
};
