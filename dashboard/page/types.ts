/** Types that only the page uses; the shapes on the wire are those of ../view.ts. */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { History, RevisionView, ServiceView, Series, Snapshot } from "../view.ts";

export type { History, RevisionView, ServiceView, Series, Snapshot };

/** How the figures arrive: over the stream, by asking again and again, or not at all. */
export type FeedStatus = "connecting" | "live" | "polling" | "offline";

export type Route =
  | { readonly kind: "overview" }
  | { readonly kind: "cells" }
  | { readonly kind: "service"; readonly namespace: string; readonly name: string };

export interface PageState {
  snapshot: Snapshot | null;
  history: Record<RevisionKey, MutableSeries>;
  feed: FeedStatus;
  /** When the last snapshot came, by this browser's clock. */
  receivedAt: number;
  route: Route;
  /** Time shown in charts, in ms. */
  spanMs: number;
  /** Instant under the cursor of the charts; null when there is none. */
  cursorAt: number | null;
}

export type MutableSeries = { -readonly [K in keyof Series]: number[] };

/** One line or area of a chart. */
export interface ChartLine {
  readonly label: string;
  /** Class of the path in the style sheet, and of its mark in the legend. */
  readonly look: string;
  readonly values: readonly number[];
  /** An area stands on the areas before it; a step is a line with corners. */
  readonly form: "area" | "step";
}
