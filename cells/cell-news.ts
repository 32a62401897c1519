/** What the activators of one cell tell each other about cells, over the store's channel. */
import type { RevisionKey } from "../common/contracts/routing.ts";

export interface CellNews {
  /** Activator. */
  readonly from: string;
  /** Revisions whose digest it changed. */
  readonly touched?: readonly RevisionKey[];
  /** Entries of other cells that listen to it. */
  readonly entries?: number;
  /** Service of which every cell must say what it holds. */
  readonly hear?: string;
}

export function writeNews(from: string, news: Omit<CellNews, "from">): string {
  return JSON.stringify({ from, ...news });
}

export function readNews(text: string): CellNews | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("from" in value)) return null;
    // Written by `writeNews` of another activator of this cell.
    return value as CellNews;
  } catch {
    return null;
  }
}
