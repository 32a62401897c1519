/** `auth: jwt`: who is let through, who is refused, and that strangers reach neither store nor pod. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SignJWT, exportJWK, generateKeyPair } from "jose";
import type { JWK } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SERVICES_CLAIM } from "../../../activator/caller-auth.ts";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

const ISSUER = "https://login.example";
let valkey: ValkeyServer;
let bench: ActivatorBench;
let keys: KeyPair;
let stranger: KeyPair;
let published: JWK;

beforeAll(async () => {
  valkey = await startValkey();
  keys = await generateKeyPair("ES256");
  stranger = await generateKeyPair("ES256");
  published = { ...(await exportJWK(keys.publicKey)), kid: "k1", alg: "ES256" };
});
afterAll(() => valkey.stop());
beforeEach(() => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
});
afterEach(() => bench.close());

interface TokenFacts {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly audience?: string;
  readonly issuer?: string;
  readonly expires?: string;
  readonly key?: KeyPair;
}

function token(facts: TokenFacts = {}): Promise<string> {
  return new SignJWT({ ...facts.claims })
    .setProtectedHeader({ alg: "ES256", kid: "k1" })
    .setIssuer(facts.issuer ?? ISSUER)
    .setAudience(facts.audience ?? "pilotlight-services")
    .setIssuedAt()
    .setExpirationTime(facts.expires ?? "5m")
    .sign((facts.key ?? keys).privateKey);
}

async function guarded(
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly activator: BenchActivator; readonly pod: StubPod }> {
  const file = join(bench.folder, "keys.json");
  writeFileSync(file, JSON.stringify({ keys: [published] }));
  await bench.configure({ auth: "jwt" });
  const activator = await bench.activator({
    PILOTLIGHT_AUTH_JWKS: file,
    PILOTLIGHT_AUTH_ISSUER: ISSUER,
    ...env,
  });
  const pod = await bench.pod();
  await pod.register(activator.push);
  return { activator, pod };
}

const bearer = (value: string): Record<string, string> => ({ authorization: `Bearer ${value}` });

describe("a service that asks for a token", () => {
  it("serves a caller who has one, and passes the token on", async () => {
    const { activator, pod } = await guarded();
    const good = await token();
    for (const _ of [1, 2]) {
      const reply = await call(activator.dataUrl, "/", { headers: bearer(good) });
      expect(reply.status).toBe(200);
    }
    expect(pod.seen[0]?.rawHeaders).toContain(`Bearer ${good}`);
  });

  it("asks also on the first request, before the configuration is known here", async () => {
    const { activator, pod } = await guarded();
    const reply = await call(activator.dataUrl, "/");
    expect(reply.status).toBe(401);
    expect(reply.headers["www-authenticate"]).toBe("Bearer");
    expect(reply.headers["pilotlight-reason"]).toBe("unauthenticated");
    expect(pod.seen).toHaveLength(0);
  });

  it.each([
    ["signed by a stranger", (): Promise<string> => token({ key: stranger })],
    ["for another audience", (): Promise<string> => token({ audience: "pilotlight" })],
    ["of another issuer", (): Promise<string> => token({ issuer: "https://evil.example" })],
    ["that is over", (): Promise<string> => token({ expires: "10s ago" })],
    ["that is no token", (): Promise<string> => Promise.resolve("letmein")],
  ])("refuses a token %s", async (_, make) => {
    const { activator, pod } = await guarded();
    const reply = await call(activator.dataUrl, "/", { headers: bearer(await make()) });
    expect(reply.status).toBe(401);
    expect(pod.seen).toHaveLength(0);
  });

  it("tells a token for other services from one for this", async () => {
    const { activator } = await guarded();
    const status = async (services: readonly string[]): Promise<number> => {
      const value = await token({ claims: { [SERVICES_CLAIM]: services } });
      return (await call(activator.dataUrl, "/", { headers: bearer(value) })).status;
    };
    expect(await status(["default/echo"])).toBe(200);
    expect(await status(["default/*"])).toBe(200);
    expect(await status(["default/ocr", "other/*"])).toBe(403);
    expect(await status([])).toBe(403);
  });

  it("is closed where the operator gave no keys", async () => {
    const { activator, pod } = await guarded({ PILOTLIGHT_AUTH_JWKS: "" });
    const reply = await call(activator.dataUrl, "/", { headers: bearer(await token()) });
    expect(reply.status).toBe(401);
    expect(reply.body).toContain("no keys");
    expect(pod.seen).toHaveLength(0);
  });

  it("does not let strangers wake it", async () => {
    await bench.configure({ auth: "jwt" });
    const activator = await bench.activator();
    expect((await call(activator.dataUrl, "/")).status).toBe(401);
    const figures = await bench.store.readFigures(REVISION, { record: false });
    expect(figures.arrivals).toBe(0);
    expect(figures.waiting).toBe(0);
  });

  it("reads the keys from a URL, a new one as soon as a token names it", async () => {
    const served = { keys: [] as JWK[] };
    const server = await keyServer(served);
    const { port } = server.address() as AddressInfo;
    served.keys.push(published);
    const { activator } = await guarded({ PILOTLIGHT_AUTH_JWKS: `http://127.0.0.1:${port}/jwks` });
    const reply = await call(activator.dataUrl, "/", { headers: bearer(await token()) });
    expect(reply.status).toBe(200);
    server.close();
  });
});

async function keyServer(served: { readonly keys: readonly JWK[] }): Promise<Server> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(served));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
