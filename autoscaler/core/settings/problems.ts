/**
 * Collects every fault of an object in the form of the stock webhook, `message: path`, so that an
 * owner sees all of them at once and in the words that Knative's own checks use.
 */
import { formatDuration } from "./duration.ts";

/** A value of a megabyte must not become a message of a megabyte. */
const SHOWN_LENGTH = 100;

export class Problems {
  readonly #errors: string[] = [];
  readonly #warnings: string[] = [];

  get errors(): readonly string[] {
    return this.#errors;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  add(message: string, path: string, details?: string): void {
    this.#errors.push(`${message}: ${path}${details === undefined ? "" : `\n${details}`}`);
  }

  warn(message: string): void {
    this.#warnings.push(message);
  }

  invalid(value: string, path: string, details?: string): void {
    this.add(`invalid value: ${shown(value)}`, path, details);
  }

  outOfBounds(value: number | string, bounds: readonly [number, number], path: string): void {
    const [low, high] = bounds;
    this.add(`expected ${low} <= ${shown(String(value))} <= ${high}`, path);
  }

  durationOutOfBounds(valueMs: number, boundsMs: readonly [number, number], path: string): void {
    const [low, value, high] = [boundsMs[0], valueMs, boundsMs[1]].map(formatDuration);
    this.add(`expected ${low} <= ${value} <= ${high}`, path);
  }
}

export function shown(value: string): string {
  return value.length > SHOWN_LENGTH ? `${value.slice(0, SHOWN_LENGTH)}...` : value;
}
