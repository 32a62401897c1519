/** The pages of a running platform, and what each must show before it is judged. */
import type { Platform } from "../../local/main.ts";

export interface PageSpec {
  readonly name: string;
  url(platform: Platform): string;
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
    shows: [".services tbody tr:nth-child(5)", ".pod.target-ready", ".waterfalls li"],
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
