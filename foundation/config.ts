/**
 * Environment to a validated, frozen option object. Each process declares its options once as a
 * table of parsers; all faults are reported together, each with name, value and what is expected.
 */
import { PlatformError } from "../common/errors.ts";

/** Turns the text of a variable (undefined when absent) into a value, or throws a plain sentence. */
export type Parser<T> = (text: string | undefined) => T;

export type ParserTable<T> = { readonly [K in keyof T]: readonly [variable: string, Parser<T[K]>] };

export function readConfig<T extends object>(
  env: Readonly<Record<string, string | undefined>>,
  table: ParserTable<T>,
): Readonly<T> {
  const faults: string[] = [];
  const result: Partial<T> = {};
  for (const key of Object.keys(table) as (keyof T)[]) {
    const [variable, parse] = table[key];
    try {
      result[key] = parse(env[variable]);
    } catch (error) {
      faults.push(`${variable}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (faults.length > 0) {
    throw new PlatformError("ERR_CONFIG_INVALID", `Bad configuration.\n${faults.join("\n")}`, {
      details: { faults },
    });
  }
  return Object.freeze(result as T);
}

export function text(fallback?: string): Parser<string> {
  return (value) => {
    const result = value ?? fallback;
    if (result === undefined) throw new Error("is not set; set it to a text");
    return result;
  };
}

export function integer(limits: { min: number; max: number; fallback?: number }): Parser<number> {
  return (value) => {
    if (value === undefined || value === "") {
      if (limits.fallback !== undefined) return limits.fallback;
      throw new Error(`is not set; set it to an integer from ${limits.min} to ${limits.max}`);
    }
    const number = Number(value);
    if (!Number.isInteger(number) || number < limits.min || number > limits.max) {
      throw new Error(`got "${value}", expected an integer from ${limits.min} to ${limits.max}`);
    }
    return number;
  };
}

export function flag(fallback = false): Parser<boolean> {
  return (value) => {
    if (value === undefined || value === "") return fallback;
    if (value === "true") return true;
    if (value === "false") return false;
    throw new Error(`got "${value}", expected true or false`);
  };
}

export function oneOf<const T extends string>(words: readonly T[], fallback: T): Parser<T> {
  return (value) => {
    if (value === undefined || value === "") return fallback;
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) throw new Error(`got "${value}", expected one of ${words.join(", ")}`);
    return word;
  };
}
