/** Replies are read into one buffer, whatever their length and however they are cut. */
import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createRandom } from "../../../common/random.ts";
import { closeClient, createClient } from "../../../store/client.ts";
import type { StoreClient } from "../../../store/client.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

/** Around the size of the buffer, and far above it. */
const LENGTHS = [1, 65_530, 65_536, 65_541, 1_000_000];

let valkey: ValkeyServer;
let client: StoreClient;

beforeAll(async () => {
  valkey = await startValkey();
  client = createClient({ url: valkey.url, random: createRandom(1), timeoutMs: 5_000 });
  await once(client, "ready");
});
afterAll(async () => {
  closeClient(client);
  await valkey.stop();
});

it("hands out long replies whole, among short ones that come with them", async () => {
  const prefix = valkey.freshPrefix();
  const texts = LENGTHS.map((length) => `${length}-`.repeat(length).slice(0, length));
  for (const [index, text] of texts.entries()) await client.set(`${prefix}${index}`, text);
  for (let round = 0; round < 20; round += 1) {
    const all = texts.flatMap((_, index) => [client.get(`${prefix}${index}`), client.ping()]);
    const replies = await Promise.all(all);
    expect(replies.filter((_, at) => at % 2 === 1)).toEqual(texts.map(() => "PONG"));
    expect(replies.filter((_, at) => at % 2 === 0).every((got, at) => got === texts[at])).toBe(
      true,
    );
  }
});
