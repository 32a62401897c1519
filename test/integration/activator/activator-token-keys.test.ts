/** The API server's keys over time: both kinds, rotation, withdrawal, and its absence. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClusterIdentity } from "../../../activator/pod-identity.ts";
import type { PodIdentity } from "../../../activator/pod-identity.ts";
import { ApiServerStub, createSigningKey, podToken } from "../../support/api-server-stub.ts";
import type { SigningKey } from "../../support/api-server-stub.ts";
import { eventually } from "../../support/eventually.ts";

const OF = { uid: "uid-1", pod: "pod-1" };
const MINUTE_MS = 60_000;

let api: ApiServerStub;
let identity: PodIdentity;
let first: SigningKey;
let now = 0;

beforeEach(async () => {
  api = new ApiServerStub();
  await api.listen();
  first = await createSigningKey("first");
  api.keys = [first];
  now = 0;
  identity = createClusterIdentity({ ...api.options, now: () => now });
});
afterEach(() => api.close());

const verified = async (key: SigningKey): Promise<string> =>
  (await identity.verifyToken(await podToken(key, OF))).uid;

describe("keys", () => {
  it("may be of elliptic curves", async () => {
    const curve = await createSigningKey("curve", "ES256");
    api.keys = [first, curve];
    expect(await verified(curve)).toBe("uid-1");
    expect(await verified(first)).toBe("uid-1");
  });

  it("are read once for pods that come together", async () => {
    await Promise.all(Array.from({ length: 20 }, () => verified(first)));
    expect(api.asks("jwks")).toBe(1);
  });

  it("that are added are found at the first token that names them", async () => {
    await verified(first);
    const second = await createSigningKey("second");
    api.keys = [first, second];
    now += 11_000;
    expect(await verified(second)).toBe("uid-1");
    expect(await verified(first)).toBe("uid-1");
    expect(api.asks("jwks")).toBe(2);
  });

  it("that were withdrawn end within minutes, without a token of another key", async () => {
    await verified(first);
    api.keys = [await createSigningKey("second")];
    await expect(verified(first)).resolves.toBe("uid-1");
    now += 6 * MINUTE_MS;
    await verified(first).catch(() => undefined);
    await eventually(() =>
      verified(first).then(
        () => false,
        () => true,
      ),
    );
  });

  it("at hand stand while the API server is away", async () => {
    await verified(first);
    api.isAway = true;
    now += 60 * MINUTE_MS;
    expect(await verified(first)).toBe("uid-1");
  });

  it("that cannot be read are no fault of the token", async () => {
    api.isAway = true;
    await expect(verified(first)).rejects.toMatchObject({ code: "ERR_API_UNAVAILABLE" });
    api.isAway = false;
    expect(await verified(first)).toBe("uid-1");
  });
});
