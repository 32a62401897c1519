/**
 * What the platform is told of each cell: one entry per cell, as text. A faulty entry is refused
 * alone, with the reason; the others stay.
 */
import type { ComputeTier } from "../../common/compute-tier.ts";
import { PRICE_FACTORS } from "../../common/compute-tier.ts";
import type { CellPlace } from "./regions.ts";

export interface CellEntry extends CellPlace {
  /** `host:port` where any activator of the cell takes its peers. */
  readonly peer: string;
  /** Keeps the books of services that may run everywhere. */
  readonly isHome: boolean;
  /** Per second and pod, by card; `default` for every other card. */
  readonly prices: Readonly<Record<string, number>>;
}

export type ReadEntry =
  | { readonly kind: "cell"; readonly cell: CellEntry }
  | { readonly kind: "faulty"; readonly message: string };

/** As a label of a DNS name: it stands in certificates. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const PEER = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):([0-9]{1,5})$/;
const FIELDS = new Set(["region", "tags", "peer", "home", "prices"]);

export function readCellEntry(name: string, text: string): ReadEntry {
  const faulty = (message: string): ReadEntry => ({
    kind: "faulty",
    message: `cell "${name}": ${message}`,
  });
  if (!NAME.test(name)) return faulty("a name has small letters, digits and dashes only");
  const value = parseObject(text);
  if (value === null) return faulty("expected a JSON object with region and peer");
  const unknown = Object.keys(value).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) return faulty(`unknown field "${unknown}"`);
  const cell = readFields(name, value);
  return typeof cell === "string" ? faulty(cell) : { kind: "cell", cell };
}

/** The fault in words, where there is one. */
function readFields(name: string, value: Readonly<Record<string, unknown>>): CellEntry | string {
  const region = value["region"] ?? name;
  const tags = value["tags"] ?? [];
  const home = value["home"] ?? false;
  const prices = value["prices"] ?? {};
  const peer = value["peer"];
  if (!isWord(region)) return "region must be a word";
  if (!isWordList(tags)) return "tags must be a list of words";
  if (!isPeer(peer)) return "peer must be host:port";
  if (typeof home !== "boolean") return "home must be true or false";
  if (!isPrices(prices)) return "prices must map cards to numbers from 0 on";
  return { name, region, tags, peer, isHome: home, prices };
}

/** Of the first card that the service prefers, else the usual one of the cell; twice for `protected`. */
export function priceOf(
  cell: CellEntry,
  cards: readonly string[],
  tier: ComputeTier = "interruptible",
): number {
  const [card = "default"] = cards;
  const price = cell.prices[card] ?? cell.prices["default"] ?? 0;
  return PRICE_FACTORS[tier] * price;
}

/** The cell whose mark says so, else the first by name. */
export function defaultHome(cells: readonly CellEntry[]): string {
  const sorted = cells.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  return (sorted.find(({ isHome }) => isHome) ?? sorted[0])?.name ?? "";
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    // Checked just now; its fields are checked one by one.
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9._-]{1,63}$/.test(value);
}

function isWordList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((word) => isWord(word));
}

function isPeer(text: unknown): text is string {
  if (typeof text !== "string") return false;
  const port = Number(PEER.exec(text)?.[2] ?? 0);
  return port >= 1 && port <= 65_535;
}

function isPrices(value: unknown): value is Readonly<Record<string, number>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((price) => typeof price === "number" && price >= 0);
}
