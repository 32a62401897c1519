/**
 * Failures have names: one class, one closed list of codes. Codes are never reused; messages say
 * what happened, to what, with the offending value, then what to do. Callers match on `code`.
 * Table with a paragraph each: docs/reference/errors.md (a test compares both).
 */

/** Whose mistake it is: decides the wording, the log level and the exit code. */
export type Blame = "caller" | "operator" | "platform";

export interface ErrorKind {
  readonly blame: Blame;
  /** The same call may succeed later without a change. */
  readonly retriable: boolean;
}

export const ERROR_CODES = {
  ERR_CONFIG_INVALID: { blame: "operator", retriable: false },
  ERR_SERVICE_FILE_INVALID: { blame: "caller", retriable: false },
  ERR_COMMAND_NOT_FOUND: { blame: "caller", retriable: false },
  ERR_PORT_IN_USE: { blame: "operator", retriable: false },
  ERR_STORE_UNAVAILABLE: { blame: "operator", retriable: true },
  ERR_STORE_REPLY: { blame: "platform", retriable: false },
  ERR_API_UNAVAILABLE: { blame: "operator", retriable: true },
  ERR_SCRIPT_LOAD: { blame: "platform", retriable: false },
  ERR_CHILD_START: { blame: "caller", retriable: false },
  ERR_CHILD_EXITED: { blame: "caller", retriable: true },
  ERR_PUSH_REFUSED: { blame: "caller", retriable: false },
  ERR_POD_UNKNOWN: { blame: "caller", retriable: true },
  ERR_TOKEN_INVALID: { blame: "caller", retriable: false },
  ERR_NOT_RUNNING: { blame: "caller", retriable: false },
  ERR_USAGE: { blame: "caller", retriable: false },
  ERR_UPSTREAM: { blame: "platform", retriable: true },
  ERR_TIMEOUT: { blame: "platform", retriable: true },
  ERR_INTERNAL: { blame: "platform", retriable: false },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorOptions {
  readonly cause?: unknown;
  /** Keys that help to find the thing: revision, target, lease, file, line. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "PlatformError";
    this.code = code;
    this.details = options.details ?? {};
  }

  get blame(): Blame {
    return ERROR_CODES[this.code].blame;
  }
}

/** The text of anything thrown, for a log field or a message. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
