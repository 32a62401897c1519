/**
 * Where an answer may be sent. A webhook's URL is the caller's word, so it must not become a way
 * into the network of the platform: a name counts by the addresses that it resolves to at the
 * moment of sending, and only public ones are allowed unless the service lists the host.
 */
import { BlockList, isIP } from "node:net";

export type WebhookUrl =
  | { readonly kind: "allowed"; readonly url: URL; readonly rule: AddressRule }
  | { readonly kind: "refused"; readonly message: string };

/** What the addresses of a host are held against. */
export type AddressRule =
  | "public"
  /** Named by the service; only addresses that no service can mean are refused. */
  | "listed";

const HTTP = new Set(["http:", "https:"]);

/** Not routed on the public internet, or a way back into our own network. */
const PRIVATE_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;
/** Inside 2000::/3; everything outside of it is not public. Some carry an IPv4 address within. */
const PRIVATE_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

export interface AddressGuard {
  allows(address: string, rule: AddressRule): boolean;
}

/** `networks`: more that are refused, `10.96.0.0/12`, for clusters with public-looking addresses. */
export function createAddressGuard(networks: readonly string[]): AddressGuard {
  const refused = new BlockList();
  for (const [network, bits] of PRIVATE_V4) refused.addSubnet(network, bits, "ipv4");
  for (const [network, bits] of PRIVATE_V6) refused.addSubnet(network, bits, "ipv6");
  for (const network of networks) {
    const [address = "", bits = ""] = network.split("/");
    refused.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  const publicV6 = new BlockList();
  publicV6.addSubnet("2000::", 3, "ipv6");
  // Cloud machines hand out their credentials at these addresses.
  const metadata = new BlockList();
  metadata.addSubnet("169.254.0.0", 16, "ipv4");
  metadata.addSubnet("fe80::", 10, "ipv6");
  metadata.addAddress("fd00:ec2::254", "ipv6");

  return {
    allows: (text, rule) => {
      const address = withoutMapping(text);
      const family = isIP(address) === 6 ? "ipv6" : "ipv4";
      if (isIP(address) === 0) return false;
      if (rule === "listed") return !metadata.check(address, family);
      if (family === "ipv6" && !publicV6.check(address, "ipv6")) return false;
      return !refused.check(address, family);
    },
  };
}

/**
 * What can be said of a URL without asking anybody. `hosts`: the service's list; empty allows any
 * public host, as `*` does.
 */
export function checkWebhookUrl(
  text: string,
  hosts: readonly string[],
  guard: AddressGuard,
): WebhookUrl {
  const url = URL.parse(text);
  if (url === null || !HTTP.has(url.protocol)) {
    return refuse("webhookEndpoint is no http or https URL");
  }
  if (`${url.username}${url.password}` !== "") {
    return refuse("webhookEndpoint must not contain credentials");
  }
  const host = hostOf(url);
  const listed = hosts.filter((pattern) => pattern !== "*");
  // A literal in the list is meant, whatever it is.
  if (listed.some((pattern) => matches(pattern, host, portOf(url)))) {
    return { kind: "allowed", url, rule: "listed" };
  }
  return hosts.length > 0 && listed.length === hosts.length
    ? refuse(`${host} is not in the webhook-hosts of this service`)
    : judgePublic(url, host, guard);
}

function judgePublic(url: URL, host: string, guard: AddressGuard): WebhookUrl {
  if (isIP(host) !== 0 && !guard.allows(host, "public")) return refuseAddress(host);
  if (isInside(host)) return refuse(`${host} is a name inside of a cluster or machine`);
  return { kind: "allowed", url, rule: "public" };
}

/** Without the brackets that a URL puts around IPv6. */
export function hostOf(url: URL): string {
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  return withoutMapping(host.endsWith(".") ? host.slice(0, -1) : host);
}

function portOf(url: URL): string {
  if (url.port !== "") return url.port;
  return url.protocol === "https:" ? "443" : "80";
}

function matches(pattern: string, host: string, port: string): boolean {
  const colon = pattern.lastIndexOf(":");
  const name = (colon < 0 ? pattern : pattern.slice(0, colon)).toLowerCase();
  if (colon >= 0 && pattern.slice(colon + 1) !== port) return false;
  return name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
}

function isInside(host: string): boolean {
  if (isIP(host) !== 0) return false;
  return !host.includes(".") || /\.(?:localhost|local|internal|svc)$/.test(host);
}

/** An IPv4 address in the clothes of IPv6 is that address: `::ffff:127.0.0.1`, `::ffff:7f00:1`. */
function withoutMapping(address: string): string {
  const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address);
  if (mapped === null) return address;
  if (mapped[1] !== undefined) return mapped[1];
  const high = Number.parseInt(mapped[2] ?? "", 16);
  const low = Number.parseInt(mapped[3] ?? "", 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function refuseAddress(host: string): WebhookUrl {
  return refuse(`${host} is not a public address`);
}

function refuse(message: string): WebhookUrl {
  return { kind: "refused", message };
}
