/**
 * Header values are bytes: a character that has none would crash Node's server, or lose its upper
 * half and become another one (a line feed, at worst). Whoever writes a head asks here first.
 */

const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;
const ALL_UNSENDABLE = new RegExp(UNSENDABLE, "g");
const WIDE = /[^\0-\xff]/;

/** Whether a text of a whole head can be written as latin1; costs nothing for most strings. */
export function isLatin1(text: string): boolean {
  return !WIDE.test(text);
}

/** The same list when all values can be sent, else one in which `?` stands for what cannot. */
export function sendableHeaders(headers: readonly string[]): readonly string[] {
  if (!headers.some((text) => UNSENDABLE.test(text))) return headers;
  return headers.map((text) => text.replace(ALL_UNSENDABLE, "?"));
}
