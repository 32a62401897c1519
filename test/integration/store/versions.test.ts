/** Several versions of the function library on one server, as during a rollout and after it. */
import { afterEach, describe, expect, test } from "vitest";
import type { ScriptLibrary } from "../../../store/load-scripts.ts";
import { loadScripts } from "../../../store/load-scripts.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle, StoreOptions } from "../../../store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { nextLayout, nextRelease } from "../../support/library-versions.ts";
import { REVISION, acquireRequest, pushReport, revisionConfig } from "../../support/routing.ts";
import { startValkeyCluster } from "../../support/valkey-sets.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const PREFIX = "versions:";
/** Longer than a newer version may be silent before an older one may take its state back. */
const LONG_US = 121_000_000;
const TODAY = loadScripts();
const RELEASE = nextRelease();
const LAYOUT = nextLayout();

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function server(port?: number): Promise<ValkeyServer> {
  const started = await startValkey(port === undefined ? {} : { port });
  closers.push(() => started.stop());
  return started;
}

async function open(
  url: string,
  library: ScriptLibrary,
  options: Partial<StoreOptions> = {},
): Promise<StoreHandle> {
  const handle = createStore({ url, prefix: PREFIX, library, timeoutMs: 300, ...options });
  closers.push(() => handle.close());
  await handle.ready();
  return handle;
}

/** As an activator does when it meets a revision, and a pod at its next push. */
async function fill({ store }: StoreHandle): Promise<void> {
  await store.configureRevision(revisionConfig());
  await store.reportReadiness(pushReport("a"), { card: "", marks: {} });
}

const take = ({ store }: StoreHandle, id: string) => store.acquireLease(acquireRequest(id));

const give = ({ store }: StoreHandle, leaseId: string) =>
  store.releaseLease({ revision: REVISION, leaseId, outcome: "done", status: 200, serviceMs: 1 });

const FENCED = {
  code: "ERR_STORE_UNAVAILABLE",
  message: expect.stringContaining("this process is of an older one, replace it"),
  details: { fault: "newer-layout" },
};

/** Every call that an older process may make. */
function callsOf({ store }: StoreHandle): readonly (readonly [string, () => Promise<unknown>])[] {
  return [
    ["configure", () => store.configureRevision(revisionConfig({ queueDepth: 7 }))],
    ["acquire", () => store.acquireLease(acquireRequest("old"))],
    ["push", () => store.reportReadiness(pushReport("b"), { card: "", marks: {} })],
    ["renew", () => store.renewActivator(REVISION, "act-1")],
    ["figures", () => store.readFigures(REVISION, { record: true })],
    ["targets", () => store.readTargets(REVISION)],
    ["held", () => store.listHeld(REVISION, "act-1", "0")],
    ["events", () => store.recordEvents(REVISION, true)],
  ];
}

async function everything({ admin }: ValkeyServer): Promise<unknown> {
  const keys = (await admin.keys(`${PREFIX}*`)).toSorted();
  return Promise.all(keys.map(async (key) => [key, await contentOf(admin, key)]));
}

/** Of a hash its fields: the order in which a server keeps them changes by itself. */
async function contentOf(admin: ValkeyServer["admin"], key: string): Promise<unknown> {
  if ((await admin.type(key)) !== "hash") return (await admin.dumpBuffer(key))?.toString("hex");
  const fields = await admin.hgetallBuffer(key);
  return new Map(Object.entries(fields).map(([field, value]) => [field, value.toString("hex")]));
}

describe("two versions with one layout", () => {
  test("share slots and queue, each with scripts of its own", async () => {
    const valkey = await server();
    const [one, two] = [await open(valkey.url, TODAY), await open(valkey.url, RELEASE)];
    await fill(one);
    expect(await valkey.admin.function("LIST")).toHaveLength(2);
    expect(await take(one, "r1")).toMatchObject({ kind: "leased" });
    expect(await take(two, "r2")).toMatchObject({ kind: "waiting" });
    await give(one, "r1");
    expect(await two.store.askTicket(REVISION, "r2")).toMatchObject({ kind: "leased" });
    expect(await take(one, "r3")).toMatchObject({ kind: "waiting" });
    await give(two, "r2");
    expect(await one.store.askTicket(REVISION, "r3")).toMatchObject({ kind: "leased" });
  });

  test.each([
    ["FLUSHALL", (valkey: ValkeyServer) => valkey.admin.flushall()],
    ["FUNCTION FLUSH", (valkey: ValkeyServer) => valkey.admin.function("FLUSH")],
    [
      "a restart without its data",
      async (valkey: ValkeyServer) => {
        await valkey.stop();
        await server(valkey.port);
      },
    ],
  ])("both go on after %s", async (_name, lose) => {
    const valkey = await server();
    const patient = { timeoutMs: 3_000 };
    const one = await open(valkey.url, TODAY, patient);
    const two = await open(valkey.url, RELEASE, patient);
    await fill(one);
    await lose(valkey);
    await fill(two);
    expect(await take(one, "r1")).toMatchObject({ kind: "leased" });
    expect(await take(two, "r2")).toMatchObject({ kind: "waiting" });
  });
});

describe("a version with a newer layout", () => {
  test("takes a revision over, is told all again, and the older one touches nothing any more", async () => {
    const valkey = await server();
    const [old, next] = [await open(valkey.url, TODAY), await open(valkey.url, LAYOUT)];
    await fill(old);
    await take(old, "r1");
    expect(await take(next, "r2")).toMatchObject({ kind: "unknown-revision" });
    expect(await take(old, "r3")).toMatchObject({ kind: "waiting" });

    await fill(next);
    const before = await everything(valkey);
    for (const [name, call] of callsOf(old)) {
      await expect(call(), name).rejects.toMatchObject(FENCED);
    }
    expect(await everything(valkey)).toEqual(before);
    expect(await take(next, "r2")).toMatchObject({ kind: "leased" });
  });

  test("has the revision for good after a loss of the store, whoever writes first", async () => {
    const valkey = await server();
    const [old, next] = [await open(valkey.url, TODAY), await open(valkey.url, LAYOUT)];
    await fill(next);
    await valkey.admin.flushall();
    await fill(old);
    expect(await take(old, "r1")).toMatchObject({ kind: "leased" });
    await fill(next);
    expect(await take(next, "r1")).toMatchObject({ kind: "leased" });
    await expect(take(old, "r2")).rejects.toMatchObject(FENCED);
  });

  test("that nobody uses any more gives the revision back: going back needs no hand", async () => {
    const valkey = await server();
    let nowUs = 1_700_000_000_000_000;
    const clock = { testTime: () => nowUs };
    const [old, next] = [
      await open(valkey.url, TODAY, clock),
      await open(valkey.url, LAYOUT, clock),
    ];
    await fill(next);
    nowUs += LONG_US / 2;
    await next.store.renewActivator(REVISION, "act-1");
    nowUs += LONG_US / 2;
    await expect(take(old, "r1")).rejects.toMatchObject(FENCED);
    nowUs += LONG_US / 2;
    expect(await take(old, "r1")).toMatchObject({ kind: "unknown-revision" });
    await fill(old);
    expect(await take(old, "r1")).toMatchObject({ kind: "leased" });
  });
});

describe("old libraries", () => {
  const names = async (valkey: ValkeyServer): Promise<readonly string[]> => {
    const entries = (await valkey.admin.function("LIST")) as unknown[][];
    return entries.map((entry) => String(entry[entry.indexOf("library_name") + 1])).toSorted();
  };

  test("go when nobody has used them for long, those in use and those of others stay", async () => {
    const valkey = await server();
    const times = { everyMs: 20, keptMs: 400 };
    const old = await open(valkey.url, TODAY, { libraryTimes: times });
    const other = "#!lua name=other\nredis.register_function('other', function() return 1 end)";
    await valkey.admin.function("LOAD", other);
    await open(valkey.url, RELEASE, { libraryTimes: times });
    // Both are in use for longer than an unused one would stay.
    const startedAt = performance.now();
    await eventually(() => performance.now() - startedAt > 2 * times.keptMs);
    expect(await names(valkey)).toEqual(["other", TODAY.name, RELEASE.name].toSorted());
    await old.close();
    await eventually(async () => !(await names(valkey)).includes(TODAY.name));
    expect(await names(valkey)).toEqual(["other", RELEASE.name].toSorted());
    expect(await valkey.admin.hkeys("pilotlight:libraries")).toEqual([RELEASE.name]);
  });

  test("are given their whole time when the notes were lost", async () => {
    const valkey = await server();
    const silent = await open(valkey.url, TODAY);
    await silent.close();
    await open(valkey.url, RELEASE, { libraryTimes: { everyMs: 20, keptMs: 60_000 } });
    const noted = (): Promise<number> => valkey.admin.hlen("pilotlight:libraries");
    await eventually(async () => (await noted()) === 2);
    await valkey.admin.flushall();
    await eventually(async () => (await noted()) === 2);
    expect(await names(valkey)).toHaveLength(2);
  });

  test("dropped under a process that still uses them are loaded again by its next call", async () => {
    const valkey = await server();
    const old = await open(valkey.url, TODAY);
    await fill(old);
    await open(valkey.url, RELEASE, { libraryTimes: { everyMs: 20, keptMs: 100 } });
    await eventually(async () => !(await names(valkey)).includes(TODAY.name));
    expect(await take(old, "r1")).toMatchObject({ kind: "leased" });
  });

  test("go from every primary of a cluster", { timeout: 60_000 }, async () => {
    const cluster = await startValkeyCluster();
    closers.push(() => cluster.stop());
    const patient = { timeoutMs: 3_000 };
    const old = await open(cluster.url, TODAY, patient);
    await fill(old);
    await old.close();
    await open(cluster.url, RELEASE, { ...patient, libraryTimes: { everyMs: 20, keptMs: 100 } });
    await eventually(
      async () => {
        const perNode = await Promise.all(cluster.nodes.map(names));
        return perNode.every((found) => found.length === 1 && found[0] === RELEASE.name);
      },
      { timeoutMs: 10_000 },
    );
  });
});
