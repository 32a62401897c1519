/** Who a sidecar is in a cluster: tokens held against the API server's keys, pods read once. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT, exportJWK, generateKeyPair } from "jose";
import type { CryptoKey, JWK } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClusterIdentity } from "../../../activator/pod-identity.ts";
import type { PodIdentity } from "../../../activator/pod-identity.ts";

interface Key {
  readonly id: string;
  readonly secret: CryptoKey;
  readonly jwk: JWK;
}

async function createKey(id: string): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const jwk = { ...(await exportJWK(publicKey)), kid: id, alg: "RS256", use: "sig" };
  return { id, secret: privateKey, jwk };
}

function tokenOf(
  key: Key,
  changes: { audience?: string; claims?: object; lifetime?: string } = {},
) {
  const bound = { namespace: "ns", pod: { name: "pod-1", uid: "uid-1" } };
  return new SignJWT({ "kubernetes.io": bound, ...changes.claims })
    .setProtectedHeader({ alg: "RS256", kid: key.id })
    .setAudience(changes.audience ?? "pilotlight")
    .setExpirationTime(changes.lifetime ?? "10m")
    .sign(key.secret);
}

const CLAIM = { uid: "uid-1", podName: "pod-1", namespace: "ns", expiresAt: 0 };
const POD = {
  metadata: {
    uid: "uid-1",
    creationTimestamp: "2026-01-02T03:04:05Z",
    labels: {
      "serving.knative.dev/revision": "rev-1",
      "serving.knative.dev/service": "svc",
    },
  },
  status: { podIP: "10.0.0.7" },
};

let server: Server;
let folder: string;
let identity: PodIdentity;
let keys: Key[];
let pod: object;
const asked: { path: string; authorization: string }[] = [];

beforeEach(async () => {
  keys = [await createKey("one")];
  pod = POD;
  asked.length = 0;
  server = createServer((request, response) => {
    const { url: path = "", headers } = request;
    asked.push({ path, authorization: headers.authorization ?? "" });
    if (path === "/openid/v1/jwks") {
      response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
    } else if (path === "/api/v1/namespaces/ns/pods/pod-1") response.end(JSON.stringify(pod));
    else response.writeHead(404).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  folder = mkdtempSync(join(tmpdir(), "pilotlight-account-"));
  writeFileSync(join(folder, "token"), "own-token\n");
  writeFileSync(join(folder, "ca.crt"), "");
  const { port } = server.address() as AddressInfo;
  identity = createClusterIdentity({
    apiUrl: `http://127.0.0.1:${port}`,
    accountFolder: folder,
  });
});

afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function key(index: number): Key {
  const found = keys[index];
  if (found === undefined) throw new Error(`no key ${index}`);
  return found;
}

describe("a token", () => {
  it("proves pod, name and namespace, and the keys are read once", async () => {
    const claim = await identity.verifyToken(await tokenOf(key(0)));
    expect(claim).toMatchObject({ uid: "uid-1", podName: "pod-1", namespace: "ns" });
    expect(claim.expiresAt).toBeGreaterThan(Date.now());
    await identity.verifyToken(await tokenOf(key(0)));
    expect(asked).toEqual([{ path: "/openid/v1/jwks", authorization: "Bearer own-token" }]);
  });

  const faults: readonly [name: string, make: () => Promise<string>][] = [
    ["for another audience", () => tokenOf(key(0), { audience: "kubernetes" })],
    ["that is over", () => tokenOf(key(0), { lifetime: "-1m" })],
    ["that is bound to no pod", () => tokenOf(key(0), { claims: { "kubernetes.io": {} } })],
    ["of an unknown key", async () => tokenOf(await createKey("one"))],
    ["that is no token", () => Promise.resolve("nonsense")],
  ];
  for (const [name, make] of faults) {
    it(`${name} is not valid`, async () => {
      await expect(identity.verifyToken(await make())).rejects.toMatchObject({
        code: "ERR_TOKEN_INVALID",
      });
    });
  }

  it("of an unknown key makes the keys be read again, but not at will", async () => {
    const stranger = await createKey("stranger");
    for (let n = 0; n < 3; n += 1) {
      await expect(identity.verifyToken(await tokenOf(stranger))).rejects.toThrow();
    }
    expect(asked.length).toBe(1);
  });
});

describe("a pod", () => {
  it("tells its revision, address and age", async () => {
    expect(await identity.readPod(CLAIM)).toEqual({
      uid: "uid-1",
      podName: "pod-1",
      namespace: "ns",
      service: "svc",
      revision: "rev-1",
      address: "10.0.0.7",
      card: "",
      marks: { spawnedAt: Date.parse("2026-01-02T03:04:05Z") },
    });
  });

  it("has no address yet while the kubelet has not reported it", async () => {
    pod = { metadata: POD.metadata, status: {} };
    expect((await identity.readPod(CLAIM)).address).toBe("");
  });

  const unknown: readonly [name: string, pod: object, claim: object][] = [
    ["with another UID under the same name", { metadata: { uid: "uid-2" } }, {}],
    ["of no revision", { metadata: { uid: "uid-1", labels: {} } }, {}],
    ["that does not exist", POD, { podName: "other" }],
  ];
  for (const [name, found, claim] of unknown) {
    it(`${name} is unknown`, async () => {
      pod = found;
      await expect(identity.readPod({ ...CLAIM, ...claim })).rejects.toMatchObject({
        code: "ERR_POD_UNKNOWN",
      });
    });
  }
});
