/**
 * Who may name a tenant, and how much of the cards each tenant is due while several wait. Gateways
 * are named by the operator; everybody else's tenant headers are removed.
 */
import { BlockList, isIP } from "node:net";
import { withoutMapping } from "../../common/peer-address.ts";

/** Weights as the script takes them. */
const SMALLEST_WEIGHT = 0.001;
const LARGEST_WEIGHT = 1_000;
const USUAL_WEIGHT = 1;
const TENANT = /^[\x21-\x7e]{1,128}$/;

export interface TenantRules {
  readonly gateways: Gateways;
  readonly weights: ReadonlyMap<string, number>;
}

export class Gateways {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /** `cidrs`: valid networks or single addresses. */
  constructor(cidrs: readonly string[]) {
    this.#isEmpty = cidrs.length === 0;
    for (const cidr of cidrs) {
      const [address = "", bits] = cidr.split("/");
      const family = isIP(address) === 6 ? "ipv6" : "ipv4";
      if (bits === undefined) this.#list.addAddress(address, family);
      else this.#list.addSubnet(address, Number(bits), family);
    }
  }

  isTrusted(remoteAddress: string): boolean {
    if (this.#isEmpty) return false;
    const address = withoutMapping(remoteAddress);
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, version === 6 ? "ipv6" : "ipv4");
  }
}

export function weightOf(rules: TenantRules, tenant: string): number {
  return rules.weights.get(tenant) ?? USUAL_WEIGHT;
}

/** `10.0.0.0/8,::1`; `undefined` when an entry is no network. */
export function parseGateways(text: string): readonly string[] | undefined {
  const parts = split(text);
  return parts.every(isNetwork) ? parts : undefined;
}

/** `acme=3,free=0.5`; `undefined` when an entry is malformed or out of range. */
export function parseWeights(text: string): ReadonlyMap<string, number> | undefined {
  const weights = new Map<string, number>();
  for (const part of split(text)) {
    const at = part.lastIndexOf("=");
    const name = part.slice(0, Math.max(at, 0));
    const weight = Number(part.slice(at + 1));
    if (at < 1 || !TENANT.test(name) || !isWeight(weight)) return undefined;
    weights.set(name, weight);
  }
  return weights;
}

function isWeight(weight: number): boolean {
  return weight >= SMALLEST_WEIGHT && weight <= LARGEST_WEIGHT;
}

function isNetwork(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32);
}

function split(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
