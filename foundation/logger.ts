/**
 * Structured log lines on standard error: one JSON object per line, a constant message and fields.
 * Written by hand because the sidecar's start must not load a logging library.
 */
import { errorText } from "../common/errors.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

export interface LoggerOptions {
  /** Process name, in every line. */
  readonly name: string;
  readonly level?: LogLevel;
  readonly fields?: LogFields;
  readonly write?: (line: string) => void;
}

export function createLogger(options: LoggerOptions): Logger {
  const threshold = LOG_LEVELS.indexOf(options.level ?? "info");
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  const fixed = { logger: options.name, ...options.fields };

  const log = (level: LogLevel, message: string, fields: LogFields = {}): void => {
    if (LOG_LEVELS.indexOf(level) < threshold) return;
    const timestamp = new Date().toISOString();
    write(
      `${JSON.stringify({ severity: level, timestamp, message, ...fixed, ...plain(fields) })}\n`,
    );
  };

  return {
    debug: (message, fields) => log("debug", message, fields),
    info: (message, fields) => log("info", message, fields),
    warn: (message, fields) => log("warn", message, fields),
    error: (message, fields) => log("error", message, fields),
    with: (fields) => createLogger({ ...options, fields: { ...options.fields, ...fields } }),
  };
}

/** Errors become text and code; everything else stays as it is. */
function plain(fields: LogFields): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    result[key] = value instanceof Error ? describeError(value) : value;
  }
  return result;
}

function describeError(error: Error): Record<string, unknown> {
  const code = (error as { code?: unknown }).code;
  const cause = error.cause === undefined ? {} : { cause: errorText(error.cause) };
  return { message: error.message, ...(code === undefined ? {} : { code }), ...cause };
}
