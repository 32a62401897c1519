/**
 * A second opinion on HTTP/1.1 request streams: a small strict reader that shares no line with the
 * proxy's parsers. Reads whole streams only, which is all that the tests of the fronts need.
 */

export interface StrictRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

export interface StrictStream {
  readonly requests: readonly StrictRequest[];
  /** Bytes of a request that is not complete. */
  readonly rest: string;
}

const REQUEST_LINE = /^([A-Z-]+) ([!-~]+) HTTP\/1\.1$/;
// Names are tokens; values may hold any byte but controls.
// oxlint-disable-next-line no-control-regex -- control bytes are what it is about.
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]?([^\0-\x08\x0a-\x1f\x7f]*)$/;

/** Throws with a reason when the text (latin1) is not a clean stream of requests. */
export function readStrictly(text: string): StrictStream {
  const requests: StrictRequest[] = [];
  let rest = text;
  for (let next = readOne(rest); next !== undefined; next = readOne(rest)) {
    requests.push(next.request);
    rest = rest.slice(next.length);
  }
  return { requests, rest };
}

function readOne(text: string): { request: StrictRequest; length: number } | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [first = "", ...lines] = text.slice(0, headEnd).split("\r\n");
  const [, method, target] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) throw new Error(`request line: ${first}`);
  const headers = lines.map((line): [string, string] => {
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`header line: ${line}`);
    return [name.toLowerCase(), value];
  });
  const body = readBody(text.slice(headEnd + 4), headers);
  if (body === undefined) return undefined;
  const request = { method, target, headers, body: body.text };
  return { request, length: headEnd + 4 + body.length };
}

interface Body {
  readonly text: string;
  readonly length: number;
}

function readBody(text: string, headers: readonly (readonly [string, string])[]): Body | undefined {
  const lengths = headers.filter(([name]) => name === "content-length");
  const codings = headers.filter(([name]) => name === "transfer-encoding");
  if (lengths.length + codings.length > 1) throw new Error("two framings");
  if (codings.length === 1) {
    if (codings[0]?.[1] !== "chunked") throw new Error(`coding ${codings[0]?.[1]}`);
    return readChunks(text);
  }
  const value = lengths[0]?.[1] ?? "0";
  if (!/^[0-9]+$/.test(value)) throw new Error(`length ${value}`);
  const length = Number(value);
  return text.length < length ? undefined : { text: text.slice(0, length), length };
}

function readChunks(text: string): Body | undefined {
  let at = 0;
  let body = "";
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const line = text.slice(at, lineEnd);
    if (!/^[0-9a-f]+$/.test(line)) throw new Error(`chunk size ${line}`);
    const size = Number.parseInt(line, 16);
    if (size === 0) return readTrailers(text, lineEnd + 2, body);
    const end = lineEnd + 2 + size;
    if (text.length < end + 2) return undefined;
    if (text.slice(end, end + 2) !== "\r\n") throw new Error("chunk longer than its size");
    body += text.slice(lineEnd + 2, end);
    at = end + 2;
  }
}

function readTrailers(text: string, start: number, body: string): Body | undefined {
  if (text.startsWith("\r\n", start)) return { text: body, length: start + 2 };
  const end = text.indexOf("\r\n\r\n", start);
  if (end === -1) return undefined;
  for (const line of text.slice(start, end).split("\r\n")) {
    if (!FIELD.test(line)) throw new Error(`trailer line: ${line}`);
  }
  return { text: body, length: end + 4 };
}
