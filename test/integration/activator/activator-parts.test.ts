/**
 * Ten thousand services over twelve activators: each knows its part only, pods push to those that
 * serve their revision, and a request is served wherever it enters. Real activators, a real store,
 * the reporter of the real sidecar.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { chooseSubset, LEAST_ACTIVATORS } from "../../../common/activator-subset.ts";
import type { ActivatorFigures } from "../../../common/contracts/activator-figures.ts";
import { FIGURES_PATH } from "../../../common/contracts/activator-figures.ts";
import type { Endpoint } from "../../../queue-proxy/activator-directory.ts";
import type { Reporter } from "../../../queue-proxy/reporter.ts";
import {
  ActivatorBench,
  call,
  podOf,
  revisionConfig,
  SECRET,
} from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { podReporter } from "../../support/pod-reporter.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const SERVICES = 10_000;
const ACTIVATORS = 12;
/** Of the services, spread over all of them. */
const WITH_PODS = 120;

interface BusyService {
  readonly name: string;
  readonly revision: string;
  readonly pod: StubPod;
  readonly reporter: Reporter;
}

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activators: BenchActivator[];
const services: BusyService[] = [];
/** Of the pods' lists of activators. */
const watchers: (() => void)[] = [];

beforeAll(async () => {
  valkey = await startValkey();
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  const names = Array.from({ length: SERVICES }, (_, index) => `s${index}`);
  bench.writeRoutes({
    generation: 2,
    routes: names.map((service) => ({
      host: hostOf(service),
      namespace: "default",
      service,
      targets: [{ revision: `${service}-00001`, percent: 100 }],
    })),
  });
  for (let first = 0; first < SERVICES; first += 500) {
    const some = names.slice(first, first + 500);
    await Promise.all(some.map((service) => bench.store.configureRevision(configOf(service))));
  }
  activators = await Promise.all(Array.from({ length: ACTIVATORS }, () => bench.activator()));
  const step = SERVICES / WITH_PODS;
  for (let index = 0; index < WITH_PODS; index += 1) {
    services.push(await busyService(names[Math.floor(index * step)] ?? ""));
  }
}, 120_000);

afterAll(async () => {
  await Promise.all(services.map(({ reporter }) => reporter.stop()));
  await bench.close();
  await valkey.stop();
}, 60_000);

function hostOf(service: string): string {
  return `${service}.default.localhost`;
}

function configOf(service: string): ReturnType<typeof revisionConfig> {
  return revisionConfig({
    service,
    revision: `${service}-00001`,
    activators: LEAST_ACTIVATORS,
  });
}

function endpoints(): readonly Endpoint[] {
  return activators.map(({ push }) => {
    const [host = "", port = ""] = push.split(":");
    return { host, port: Number(port) };
  });
}

async function busyService(name: string): Promise<BusyService> {
  const revision = `${name}-00001`;
  const pod = await bench.pod({ revision: `default/${revision}` });
  const reporter = await podReporter({
    pod,
    secret: SECRET,
    namespace: "default",
    revision,
    directory: {
      list: () => Promise.resolve(endpoints()),
      watch: (onChange) => watchers.push(onChange),
      stop: () => {},
    },
    state: () => "ready",
  });
  reporter.start();
  return { name, revision, pod, reporter };
}

/** Those that serve a revision, first those that it is led to. */
function membersOf(revision: string): {
  readonly part: BenchActivator[];
  others: BenchActivator[];
} {
  const pushes = new Set(
    chooseSubset(
      activators.map(({ push }) => push),
      LEAST_ACTIVATORS,
      revision,
    ),
  );
  return {
    part: activators.filter(({ push }) => pushes.has(push)),
    others: activators.filter(({ push }) => !pushes.has(push)),
  };
}

async function figuresOf({ push }: BenchActivator): Promise<ActivatorFigures["revisions"]> {
  const page = (await (await fetch(`http://${push}${FIGURES_PATH}`)).json()) as ActivatorFigures;
  return page.revisions;
}

/** Revisions whose pod pushes to an activator that serves them. */
async function podsAtHome(): Promise<number> {
  let home = 0;
  for (const activator of activators) {
    for (const { revision, pods } of await figuresOf(activator)) {
      const { part } = membersOf(revision.split("/")[1] ?? "");
      if (pods > 0 && part.includes(activator)) home += 1;
    }
  }
  return home;
}

async function answer(activator: BenchActivator, { name, pod }: BusyService): Promise<boolean> {
  const reply = await call(activator.dataUrl, "/", { host: hostOf(name) });
  return reply.status === 200 && podOf(reply) === pod.uid;
}

it("keeps at each activator what it serves, and serves what enters elsewhere", async () => {
  await eventually(async () => (await podsAtHome()) === WITH_PODS, {
    timeoutMs: 40_000,
    everyMs: 100,
    what: "every pod pushes to one that serves its revision",
  });
  for (const service of services) {
    for (const member of membersOf(service.revision).part) {
      expect(await answer(member, service)).toBe(true);
    }
  }
  // Whoever took a first push before the pod knew its part forgets the revision within a minute.
  let known: number[] = [];
  await eventually(
    async () => {
      known = await Promise.all(activators.map(async (one) => (await figuresOf(one)).length));
      return known.reduce((sum, count) => sum + count, 0) === LEAST_ACTIVATORS * WITH_PODS;
    },
    { timeoutMs: 60_000, everyMs: 500, what: "each activator knows what it serves" },
  );
  // A part of 2 in 12; chance spreads it, but nobody has half of all.
  for (const count of known) expect(count).toBeLessThan(WITH_PODS / 2);

  for (const service of services.slice(0, 10)) {
    for (const other of membersOf(service.revision).others) {
      expect(await answer(other, service)).toBe(true);
    }
  }
}, 150_000);

it("leads on when an activator goes: its pods push to others of their part, its services answer", async () => {
  const [gone] = activators;
  if (gone === undefined) throw new Error("no activator");
  const had = services.filter(({ revision }) => membersOf(revision).part.includes(gone));
  activators = activators.slice(1);
  for (const onChange of watchers) onChange();
  await gone.drain();
  await eventually(async () => (await podsAtHome()) === WITH_PODS, {
    timeoutMs: 40_000,
    everyMs: 100,
    what: "every pod pushes to one that serves its revision now",
  });
  for (const service of had) {
    for (const member of membersOf(service.revision).part) {
      expect(await answer(member, service)).toBe(true);
    }
  }
}, 60_000);
