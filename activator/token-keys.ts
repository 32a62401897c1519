/**
 * The keys with which the API server signs pod tokens. Read at first use, again when a token names
 * one that is not among them, and every few minutes, so that a withdrawn key ends; while the API
 * server is away, the keys at hand stand.
 */
import { createLocalJWKSet } from "jose";
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import { PlatformError } from "../common/errors.ts";
import type { ApiReader } from "./api-reader.ts";

const KEYS_PATH = "/openid/v1/jwks";
/** Between two reads that tokens of unknown keys cause, so that nobody can cause many. */
const PAUSE_MS = 10_000;
const MAX_AGE_MS = 300_000;

export interface TokenKeysOptions {
  readonly read: ApiReader;
  /** Monotonic, in ms. */
  readonly now: () => number;
}

export function createTokenKeys({ read, now }: TokenKeysOptions): JWTVerifyGetKey {
  let keys: JWTVerifyGetKey | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<JWTVerifyGetKey> | undefined;

  const reread = async (): Promise<JWTVerifyGetKey> => {
    triedAt = now();
    const set = await read(KEYS_PATH);
    if (set === undefined) {
      throw new PlatformError("ERR_API_UNAVAILABLE", `The API server has no ${KEYS_PATH}.`);
    }
    keys = createLocalJWKSet(set as JSONWebKeySet);
    return keys;
  };
  /** One read at a time, for all who wait for it. */
  const fresh = (): Promise<JWTVerifyGetKey> => {
    reading ??= reread().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  return async (header, token) => {
    const known = keys ?? (await fresh());
    // Behind its back: whoever comes with a good token does not wait.
    if (now() - triedAt > MAX_AGE_MS) fresh().catch(() => undefined);
    try {
      return await known(header, token);
    } catch (error) {
      if (now() - triedAt < PAUSE_MS) throw error;
      return (await fresh())(header, token);
    }
  };
}
