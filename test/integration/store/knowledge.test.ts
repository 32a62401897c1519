/** What is learnt, kept beside the routing state: the call log, knowledge texts, recent workflows. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let handle: StoreHandle;

beforeAll(async () => {
  valkey = await startValkey();
  handle = createStore({ url: valkey.url, prefix: valkey.freshPrefix() });
  await handle.ready();
});

afterAll(async () => {
  await handle.close();
  await valkey.stop();
});

describe("the call log", () => {
  it("is read in pages, each entry once, and from where the last read ended", async () => {
    const { knowledge } = handle;
    await knowledge.appendCalls("ns/log", ["a", "b", "c"]);
    const first = await knowledge.readCalls("ns/log", "0", 2);
    expect(first.entries).toEqual(["a", "b"]);
    const second = await knowledge.readCalls("ns/log", first.cursor, 2);
    expect(second.entries).toEqual(["c"]);
    const none = await knowledge.readCalls("ns/log", second.cursor, 2);
    expect(none).toEqual({ cursor: second.cursor, entries: [] });
    await knowledge.appendCalls("ns/log", ["d"]);
    expect((await knowledge.readCalls("ns/log", none.cursor, 2)).entries).toEqual(["d"]);
  });

  it("goes with its revision, and so does what was learnt of it", async () => {
    const { knowledge, store } = handle;
    await knowledge.appendCalls("ns/gone", ["a"]);
    await knowledge.writeKnowledge("ns/gone", "learnt");
    await store.removeRevision("ns/gone");
    expect((await knowledge.readCalls("ns/gone", "0", 9)).entries).toEqual([]);
    expect(await knowledge.readKnowledge("ns/gone")).toBeNull();
  });
});

it("keeps a text per revision and per class of a namespace", async () => {
  const { knowledge } = handle;
  expect(await knowledge.readKnowledge("ns/rev")).toBeNull();
  await knowledge.writeKnowledge("ns/rev", "one");
  await knowledge.writeClass("ns", "text2sql", "two");
  expect(await knowledge.readKnowledge("ns/rev")).toBe("one");
  expect(await knowledge.readClass("ns", "text2sql")).toBe("two");
  expect(await knowledge.readClass("other", "text2sql")).toBeNull();
});

it("lists the workflows that began last, newest first, each once", async () => {
  const { knowledge } = handle;
  const workflow = { namespace: "ns", tenant: "acme", workflowClass: "text2sql" };
  for (let at = 1; at <= 510; at += 1) {
    await knowledge.noteWorkflow({ ...workflow, id: `q-${at}`, at });
  }
  await knowledge.noteWorkflow({ ...workflow, id: "q-500", at: 500 });
  const recent = await knowledge.recentWorkflows(1_000);
  expect(recent).toHaveLength(500);
  expect(recent[0]).toEqual({ ...workflow, id: "q-510", at: 510 });
  expect(recent.at(-1)?.id).toBe("q-11");
});
