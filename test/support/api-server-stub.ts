/**
 * The two paths of an API server that an activator reads, over real HTTP, with real signing keys:
 * for what a real one cannot be brought to do at will, such as rotating its keys or going away.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT, exportJWK, generateKeyPair } from "jose";
import type { CryptoKey, JWK } from "jose";
import type { PodObject } from "../../activator/core/pod-object.ts";

export interface SigningKey {
  readonly id: string;
  readonly algorithm: "RS256" | "ES256";
  readonly secret: CryptoKey;
  readonly jwk: JWK;
}

export async function createSigningKey(
  id: string,
  algorithm: SigningKey["algorithm"] = "RS256",
): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm);
  const jwk = { ...(await exportJWK(publicKey)), kid: id, alg: algorithm, use: "sig" };
  return { id, algorithm, secret: privateKey, jwk };
}

export interface TokenOf {
  readonly uid: string;
  readonly pod: string;
  readonly namespace?: string;
  readonly audience?: string;
  readonly lifetime?: string;
}

/** As the API server projects it into a pod. */
export function podToken(key: SigningKey, of: TokenOf): Promise<string> {
  const { uid, pod, namespace = "default", audience = "pilotlight", lifetime = "1h" } = of;
  return new SignJWT({ "kubernetes.io": { namespace, pod: { name: pod, uid } } })
    .setProtectedHeader({ alg: key.algorithm, kid: key.id })
    .setIssuer("https://kubernetes.default.svc")
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(lifetime)
    .sign(key.secret);
}

export class ApiServerStub {
  keys: SigningKey[] = [];
  /** By `namespace/name`. */
  readonly pods = new Map<string, PodObject>();
  /** By `namespace/name`. */
  readonly revisions = new Set<string>();
  readonly asked: string[] = [];
  isAway = false;
  readonly folder = mkdtempSync(join(tmpdir(), "pilotlight-account-"));
  readonly #server: Server;

  constructor() {
    writeFileSync(join(this.folder, "token"), "own-token\n");
    writeFileSync(join(this.folder, "ca.crt"), "");
    this.#server = createServer((request, response) => {
      const { url: path = "" } = request;
      this.asked.push(path);
      if (this.isAway) return void response.writeHead(503).end("etcd is gone");
      // As the real one, whose key set has a type of its own.
      const type = path.endsWith("jwks") ? "application/jwk-set+json" : "application/json";
      if (!request.headers.accept?.includes(type)) return void response.writeHead(406).end();
      const found = this.#find(path);
      response.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found ?? {}));
    });
  }

  #find(path: string): object | undefined {
    if (path === "/openid/v1/jwks") return { keys: this.keys.map(({ jwk }) => jwk) };
    const [, namespace, kind, name] = /\/namespaces\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    const key = `${namespace}/${name}`;
    if (kind === "pods") return this.pods.get(key);
    return kind === "revisions" && this.revisions.has(key) ? {} : undefined;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get options(): { readonly apiUrl: string; readonly accountFolder: string } {
    const { port } = this.#server.address() as AddressInfo;
    return { apiUrl: `http://127.0.0.1:${port}`, accountFolder: this.folder };
  }

  asks(path: string): number {
    return this.asked.filter((asked) => asked.includes(path)).length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
