/** The impossible case of a switch over a closed union; the compiler proves that it is. */
export function impossible(value: never): never {
  throw new TypeError(`Unexpected value ${JSON.stringify(value)}: a case is missing in a switch`);
}
