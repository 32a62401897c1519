/**
 * The part of Go's text/template that request-log templates use (contract 2.12): fields and methods
 * by path, calls with arguments, pipes, `if`/`else`, `with`-free, and the built-in functions. Apart
 * because it is a small language of its own, and pure.
 */

/** Data of a template: fields by name; functions are Go's methods. */
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly TemplateValue[]
  | ((...args: TemplateValue[]) => TemplateValue)
  | { readonly [field: string]: TemplateValue };

export type Template = (data: TemplateValue) => string;

type Render = (data: TemplateValue) => string;
type Evaluate = (data: TemplateValue) => TemplateValue;

export class TemplateError extends Error {}

const ACTION = /\{\{(-\s)?\s*([^]*?)\s*(\s-)?\}\}/g;
const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*")|`([^`]*)`|(-?\d+(?:\.\d+)?)|(\.[\w.]*|\$\.?[\w.]*)|([A-Za-z]\w*)|(\||\(|\)))/y;

/** Throws `TemplateError` for what it does not know, so that a bad template is told at the start. */
export function compileTemplate(text: string): Template {
  const parser = new BlockParser(splitActions(text));
  const render = parser.block();
  if (!parser.isDone) throw new TemplateError("unexpected {{end}} or {{else}}");
  return render;
}

type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "action"; readonly code: string };

function splitActions(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let trimsNext = false;
  const pushText = (raw: string): void => {
    const kept = trimsNext ? raw.trimStart() : raw;
    if (kept !== "") pieces.push({ kind: "text", text: kept });
  };
  for (const match of text.matchAll(ACTION)) {
    const before = text.slice(at, match.index);
    pushText(match[1] === undefined ? before : before.trimEnd());
    pieces.push({ kind: "action", code: match[2] ?? "" });
    trimsNext = match[3] !== undefined;
    at = match.index + match[0].length;
  }
  pushText(text.slice(at));
  return pieces;
}

class BlockParser {
  readonly #pieces: readonly Piece[];
  #at = 0;

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
  }

  get isDone(): boolean {
    return this.#at >= this.#pieces.length;
  }

  /** Up to the `end` or `else` of the block around, which is left for its owner. */
  block(): Render {
    const parts: Render[] = [];
    while (!this.isDone) {
      const piece = this.#pieces[this.#at];
      if (piece === undefined || isBlockEnd(piece)) break;
      this.#at += 1;
      parts.push(this.#render(piece));
    }
    return (data) => parts.map((part) => part(data)).join("");
  }

  #render(piece: Piece): Render {
    if (piece.kind === "text") return () => piece.text;
    const { code } = piece;
    if (code.startsWith("/*")) return () => "";
    if (/^if\s/.test(code)) return this.#condition(code.slice(3));
    const evaluate = parsePipeline(code);
    return (data) => printValue(evaluate(data));
  }

  #condition(code: string): Render {
    const test = parsePipeline(code);
    const then = this.block();
    const next = this.#take();
    if (next === "end") return (data) => (isTrue(test(data)) ? then(data) : "");
    const otherwise = /^else\s+if\s/.test(next)
      ? this.#condition(next.replace(/^else\s+if\s/, ""))
      : this.#elseBlock();
    return (data) => (isTrue(test(data)) ? then(data) : otherwise(data));
  }

  #elseBlock(): Render {
    const block = this.block();
    if (this.#take() !== "end") throw new TemplateError("{{else}} without {{end}}");
    return block;
  }

  #take(): string {
    const piece = this.#pieces[this.#at];
    this.#at += 1;
    if (piece?.kind !== "action") throw new TemplateError("{{if}} without {{end}}");
    return piece.code;
  }
}

function isBlockEnd(piece: Piece): boolean {
  return piece.kind === "action" && /^(end|else)\b/.test(piece.code);
}

type Token =
  | { readonly kind: "value"; readonly value: string | number }
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "mark"; readonly mark: string };

function tokensOf(code: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < code.length) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(code);
    if (match === null) throw new TemplateError(`cannot read "${code.slice(from)}"`);
    tokens.push(tokenOf(match));
  }
  return tokens;
}

function tokenOf(match: RegExpExecArray): Token {
  const [, quoted, raw, number, path, name, mark] = match;
  if (quoted !== undefined) return { kind: "value", value: String(JSON.parse(quoted)) };
  if (raw !== undefined) return { kind: "value", value: raw };
  if (number !== undefined) return { kind: "value", value: Number(number) };
  if (path !== undefined) return { kind: "path", path: path.replace(/^\$/, "") };
  if (name !== undefined) return { kind: "name", name };
  return { kind: "mark", mark: mark ?? "" };
}

function parsePipeline(code: string): Evaluate {
  const tokens = tokensOf(code);
  const evaluate = pipeline(tokens);
  if (tokens.length > 0) throw new TemplateError(`cannot read the rest of "${code}"`);
  return evaluate;
}

/** Takes tokens up to a closing parenthesis. */
function pipeline(tokens: Token[]): Evaluate {
  let evaluate = command(tokens, undefined);
  while (isMark(tokens[0], "|")) {
    tokens.shift();
    evaluate = command(tokens, evaluate);
  }
  return evaluate;
}

function command(tokens: Token[], piped: Evaluate | undefined): Evaluate {
  const operands: (Evaluate | string)[] = [];
  for (let token = tokens[0]; token !== undefined; token = tokens[0]) {
    if (isMark(token, "|") || isMark(token, ")")) break;
    tokens.shift();
    operands.push(operand(token, tokens));
  }
  const [head, ...rest] = operands;
  if (head === undefined) throw new TemplateError("an empty command");
  const args = piped === undefined ? rest : [...rest, piped];
  const evaluateArgs = (data: TemplateValue): TemplateValue[] =>
    args.map((arg) => (typeof arg === "string" ? callFunction(arg, []) : callValue(arg(data), [])));
  if (typeof head === "string") {
    if (!FUNCTIONS.has(head)) throw new TemplateError(`function "${head}" not defined`);
    return (data) => callFunction(head, evaluateArgs(data));
  }
  return (data) => callValue(head(data), evaluateArgs(data));
}

function operand(token: Token, tokens: Token[]): Evaluate | string {
  switch (token.kind) {
    case "value":
      return () => token.value;
    case "path":
      return (data) => fieldOf(data, token.path);
    case "name":
      return LITERALS.has(token.name) ? () => LITERALS.get(token.name) : token.name;
    case "mark": {
      if (token.mark !== "(") throw new TemplateError(`unexpected "${token.mark}"`);
      const inner = pipeline(tokens);
      if (!isMark(tokens.shift(), ")")) throw new TemplateError("unclosed left paren");
      return inner;
    }
  }
}

function isMark(token: Token | undefined, mark: string): boolean {
  return token?.kind === "mark" && token.mark === mark;
}

const LITERALS: ReadonlyMap<string, TemplateValue> = new Map<string, TemplateValue>([
  ["true", true],
  ["false", false],
  ["nil", null],
]);

function fieldOf(data: TemplateValue, path: string): TemplateValue {
  let value = data;
  for (const name of path.split(".").filter((part) => part !== "")) {
    const holder = typeof value === "function" ? value() : value;
    if (typeof holder !== "object" || holder === null || Array.isArray(holder)) {
      throw new TemplateError(`can't evaluate field ${name}`);
    }
    if (!Object.hasOwn(holder, name)) throw new TemplateError(`can't evaluate field ${name}`);
    // `holder` is one of the record forms of a value: the array form was left above.
    value = (holder as { readonly [field: string]: TemplateValue })[name];
  }
  return value;
}

function callValue(value: TemplateValue, args: TemplateValue[]): TemplateValue {
  if (typeof value === "function") return value(...args);
  if (args.length > 0) throw new TemplateError("can't give argument to non-function");
  return value;
}

type TemplateFunction = (...args: TemplateValue[]) => TemplateValue;

const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ["js", (...args) => escapeJs(args.map(printValue).join(""))],
  ["html", (...args) => escapeHtml(args.map(printValue).join(""))],
  ["urlquery", (...args) => encodeURIComponent(args.map(printValue).join(""))],
  ["print", (...args) => args.map(printValue).join("")],
  ["printf", (format, ...args) => formatText(printValue(format), args)],
  ["index", (holder, ...keys) => keys.reduce(elementOf, holder)],
  ["len", (value) => lengthOf(value)],
  ["eq", (first, ...others) => others.some((other) => other === first)],
  ["ne", (first, second) => first !== second],
  ["not", (value) => !isTrue(value)],
  ["and", (...args) => args.find((value) => !isTrue(value)) ?? args.at(-1)],
  ["or", (...args) => args.find((value) => isTrue(value)) ?? args.at(-1)],
]);

function callFunction(name: string, args: TemplateValue[]): TemplateValue {
  return FUNCTIONS.get(name)?.(...args);
}

/** A missing key of a map of lists is an empty list, and an index beyond a list has nothing. */
function elementOf(holder: TemplateValue, key: TemplateValue): TemplateValue {
  if (typeof holder !== "object" || holder === null) {
    throw new TemplateError("can't index item of this type");
  }
  if (!Array.isArray(holder)) {
    return (holder as { readonly [field: string]: TemplateValue })[printValue(key)] ?? [];
  }
  if (typeof key !== "number" || key < 0 || key >= holder.length) {
    throw new TemplateError(`index out of range: ${printValue(key)}`);
  }
  return holder[key];
}

function lengthOf(value: TemplateValue): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "object" && value !== null) return Object.keys(value).length;
  throw new TemplateError("len of this type");
}

function isTrue(value: TemplateValue): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** `%s`, `%d`, `%v`, `%q`, `%f` with precision, `%%`: what a log line uses. */
function formatText(format: string, args: TemplateValue[]): string {
  const rest = [...args];
  return format.replace(/%(\.\d+)?([sdvqf%])/g, (_all, precision: string | undefined, verb) => {
    if (verb === "%") return "%";
    const value = rest.shift();
    if (verb === "q") return JSON.stringify(printValue(value));
    if (verb === "f") return Number(value).toFixed(Number(precision?.slice(1) ?? 6));
    return printValue(value);
  });
}

/** As Go prints a value with `%v`. */
export function printValue(value: TemplateValue): string {
  if (value === null || value === undefined) return "<nil>";
  if (typeof value === "number") return printNumber(value);
  if (typeof value === "function") return printValue(value());
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map(printValue).join(" ")}]`;
  const fields = Object.entries(value).map(([name, field]) => `${name}:${printValue(field)}`);
  return `map[${fields.toSorted().join(" ")}]`;
}

/** Go writes an exponent below 1e-4, with two digits at least. */
function printNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 1e-4) return String(value);
  const [digits = "", exponent = ""] = value.toExponential().split("e-");
  return `${digits}e-${exponent.padStart(2, "0")}`;
}

function escapeJs(text: string): string {
  return text.replace(JS_UNSAFE, (char) => JS_ESCAPES[char] ?? `\\u${hex(char)}`);
}

/** Quotes, what means something to HTML, and control characters (`\p{Cc}`). */
const JS_UNSAFE = /[\\'"<>&=\p{Cc}]/gu;
const JS_ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "'": "\\'", '"': '\\"' };

function hex(char: string): string {
  return char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => HTML_ESCAPES[char] ?? char);
}
