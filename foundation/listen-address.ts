/** Where a server listens: `host:port`, or `:port` for all addresses of the machine. */
import { networkInterfaces } from "node:os";
import type { Parser } from "./config.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

const FORM = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/;
const LARGEST_PORT = 65_535;

export function address(fallback: string): Parser<Address> {
  return (value) => parseAddress(value === undefined || value === "" ? fallback : value);
}

/** An IPv6 address stands in brackets. */
export function parseAddress(value: string): Address {
  const { six, host = six, port } = FORM.exec(value)?.groups ?? {};
  if (host === undefined || Number(port) > LARGEST_PORT) {
    throw new Error(`got "${value}", expected host:port or :port, for example 127.0.0.1:8080`);
  }
  return { host: host === "" ? allAddresses() : host, port: Number(port) };
}

/** Of both families; a machine without IPv6 cannot listen on its addresses. */
function allAddresses(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses.some(({ family }) => family === "IPv6") ? "::" : "0.0.0.0";
}
