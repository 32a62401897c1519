/** The pod's name inside its token. */
import { expect, it } from "vitest";
import { podUidOf } from "../../../queue-proxy/pod-identity.ts";

const token = (payload: unknown): string =>
  `e30.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.c2ln`;

it.each([
  ["a projected token", token({ "kubernetes.io": { pod: { uid: "u-1", name: "p" } } }), "u-1"],
  ["a token of no pod", token({ "kubernetes.io": { serviceaccount: {} } }), ""],
  ["a claim that is no text", token({ "kubernetes.io": { pod: { uid: 7 } } }), ""],
  ["a payload that is no object", token(null), ""],
  ["no token", "", ""],
  ["nonsense", "a.b.c", ""],
])("of %s", (_name, text, uid) => {
  expect(podUidOf(text)).toBe(uid);
});
