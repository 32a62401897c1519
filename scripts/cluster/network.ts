/**
 * One network namespace for the control plane and one per node, joined by a bridge in a namespace
 * of its own, and no way out: nothing in the cluster reaches the world, and this machine reaches
 * pods and services by plain routes. Pulling one cable of the bridge cuts a node off.
 */
import { existsSync, readdirSync } from "node:fs";
import { NETWORK, NODES, PREFIX, namespaceOf } from "./layout.ts";
import { attempt, run } from "./run.ts";

const SWITCH = namespaceOf("switch");
const BRIDGE = "bridge";
const HOST_LINK = `${PREFIX}-host`;

interface Port {
  readonly part: string;
  readonly address: string;
}

const ports: readonly Port[] = [
  { part: "control", address: NETWORK.control },
  ...NODES.map(({ name, address }) => ({ part: name, address })),
];

/** Makes everything; one `ip -batch` per namespace keeps it at a fraction of a second. */
export async function makeNetwork(): Promise<void> {
  await run("ip", ["-batch", "-"], {
    input: lines([`netns add ${SWITCH}`, ...ports.map(addNamespace)]),
  });
  await inside("switch", [
    `link add ${BRIDGE} type bridge`,
    `link set ${BRIDGE} up`,
    "link set lo up",
  ]);
  await run("ip", ["-batch", "-"], {
    input: lines([
      ...ports.map(({ part }) => cable(part, `eth0 netns ${namespaceOf(part)}`)),
      cable("host", HOST_LINK),
      `addr add ${NETWORK.host}/${NETWORK.prefixLength} dev ${HOST_LINK}`,
      `link set ${HOST_LINK} up`,
      ...routesTo(undefined).map((route) => `route add ${route}`),
    ]),
  });
  await inside(
    "switch",
    [...ports.map(({ part }) => part), "host"].flatMap((part) => [
      `link set to-${part} master ${BRIDGE}`,
      `link set to-${part} up`,
    ]),
  );
  await Promise.all(ports.map(join));
}

/** Removes the namespaces, and with them every interface and route. */
export async function removeNetwork(): Promise<void> {
  await attempt("ip", ["link", "del", HOST_LINK]);
  for (const name of ownNamespaces()) await attempt("ip", ["netns", "del", name]);
}

export function ownNamespaces(): readonly string[] {
  const folder = "/run/netns";
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => name.startsWith(`${PREFIX}-`));
}

/** Pulls or puts back a part's cable: everything to and from it is lost meanwhile. */
export async function plug(part: string, connected: boolean): Promise<void> {
  await inside("switch", [`link set to-${part} ${connected ? "up" : "down"}`]);
}

/** The start of a command line that runs a program inside a part's network. */
export function enter(part: string): readonly [string, string] {
  // `ip netns exec` mounts a new /sys, in which kubelet finds no control groups.
  return ["nsenter", `--net=/run/netns/${namespaceOf(part)}`];
}

async function join({ part, address }: Port): Promise<void> {
  await inside(part, [
    "link set lo up",
    `addr add ${address}/${NETWORK.prefixLength} dev eth0`,
    "link set eth0 up",
    ...routesTo(part).map((route) => `route add ${route}`),
  ]);
  const [program, namespace] = enter(part);
  const forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
  await run(program, [namespace, "sh", "-c", forward]);
}

/** Pods live behind their nodes; services are translated by any node, so by the first that is not us. */
function routesTo(part: string | undefined): readonly string[] {
  const pods = NODES.filter(({ name }) => name !== part).map(
    ({ pods, address }) => `${pods} via ${address}`,
  );
  const isNode = NODES.some(({ name }) => name === part);
  const [first] = NODES;
  if (isNode || first === undefined) return pods;
  return [...pods, `${NETWORK.services} via ${first.address}`];
}

const addNamespace = ({ part }: Port): string => `netns add ${namespaceOf(part)}`;
const cable = (part: string, end: string): string =>
  `link add name ${end} type veth peer name to-${part} netns ${SWITCH}`;
const lines = (commands: readonly string[]): string => `${commands.join("\n")}\n`;

async function inside(part: string, commands: readonly string[]): Promise<void> {
  await run("ip", ["-netns", namespaceOf(part), "-batch", "-"], { input: lines(commands) });
}
