/** Addresses of peers as a dual-stack socket names them. */

/** `::ffff:10.0.0.1` is the same peer as `10.0.0.1`. */
export function withoutMapping(address: string): string {
  return address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
}
