/**
 * Pod tokens as a real API server makes them, checked with the rights that the manifests give an
 * activator: what proves a pod, and what does not.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClusterIdentity } from "../../activator/pod-identity.ts";
import type { PodIdentity } from "../../activator/pod-identity.ts";
import { createApiReader } from "../../activator/api-reader.ts";
import { eventually } from "../support/eventually.ts";
import { create, startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { find, readObjects } from "../support/manifest-files.ts";

const PODS = "/api/v1/namespaces/default/pods";
const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";

let api: KubeApi;
let folder: string;
let identity: PodIdentity;

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
}

async function newPod(name: string, labels: Readonly<Record<string, string>>): Promise<Pod> {
  const spec = { serviceAccountName: "tenant", containers: [{ name: "user", image: "x" }] };
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name, labels }, spec };
  return (await create(api.client, PODS, body)) as unknown as Pod;
}

interface TokenAsked {
  readonly account?: string;
  readonly audience?: string;
  readonly pod?: Pod;
}

async function tokenOf({ account, audience, pod }: TokenAsked): Promise<string> {
  const bound = pod && {
    boundObjectRef: {
      apiVersion: "v1",
      kind: "Pod",
      name: pod.metadata.name,
      uid: pod.metadata.uid,
    },
  };
  const answer = await api.client.write<{ readonly status: { readonly token: string } }>({
    method: "POST",
    path: account ?? `${ACCOUNTS}/tenant/token`,
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences: [audience ?? "pilotlight"], expirationSeconds: 3_600, ...bound },
    },
  });
  return answer.status.token;
}

/** The activator's own account, with the role of the manifests and nothing else. */
async function activatorAccount(): Promise<string> {
  const own = "/api/v1/namespaces/knative-serving/serviceaccounts";
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const roles = readObjects("base/200-activator-roles.yaml");
  const name = "pilotlight-activator";
  await create(api.client, own, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
  await create(api.client, `${rbac}/clusterroles`, find(roles, "ClusterRole", name));
  await create(api.client, `${rbac}/clusterrolebindings`, find(roles, "ClusterRoleBinding", name));
  const path = mkdtempSync(join(tmpdir(), "pilotlight-activator-account-"));
  const audience = "https://kubernetes.default.svc";
  const token = await tokenOf({ account: `${own}/${name}/token`, audience });
  writeFileSync(join(path, "token"), token);
  copyFileSync(join(api.accountFolder, "ca.crt"), join(path, "ca.crt"));
  return path;
}

beforeAll(async () => {
  api = await startKubeApi();
  await create(api.client, ACCOUNTS, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "tenant" },
  });
  folder = await activatorAccount();
  identity = createClusterIdentity({ apiUrl: api.url, accountFolder: folder });
}, 180_000);
afterAll(async () => {
  await api.stop();
  rmSync(folder, { recursive: true, force: true });
});

const LABELS = {
  "serving.knative.dev/revision": "echo-00001",
  "serving.knative.dev/service": "echo",
};

describe("a token of the API server", () => {
  it("proves its pod, which tells its revision", async () => {
    const pod = await newPod("good", LABELS);
    const claim = await identity.verifyToken(await tokenOf({ pod }));
    expect(claim).toMatchObject({
      uid: pod.metadata.uid,
      podName: "good",
      namespace: "default",
    });
    expect(await identity.readPod(claim)).toMatchObject({
      revision: "echo-00001",
      service: "echo",
      address: "",
      card: "",
    });
  });

  it("for the API server itself proves nothing here", async () => {
    const pod = await newPod("other-audience", LABELS);
    const token = await tokenOf({ pod, audience: "https://kubernetes.default.svc" });
    await expect(identity.verifyToken(token)).rejects.toMatchObject({ code: "ERR_TOKEN_INVALID" });
  });

  it("that is bound to no pod proves nothing", async () => {
    const token = await tokenOf({});
    await expect(identity.verifyToken(token)).rejects.toMatchObject({ code: "ERR_TOKEN_INVALID" });
  });

  it("with a claim changed is not valid", async () => {
    const [pod, other] = [await newPod("one", LABELS), await newPod("two", LABELS)];
    const [head = "", body = "", signature = ""] = (await tokenOf({ pod })).split(".");
    const text = Buffer.from(body, "base64url").toString("utf8");
    const forged = text.replaceAll(pod.metadata.uid, other.metadata.uid);
    const token = [head, Buffer.from(forged).toString("base64url"), signature].join(".");
    await expect(identity.verifyToken(token)).rejects.toMatchObject({ code: "ERR_TOKEN_INVALID" });
  });

  it("outlives its pod, and opens nothing then", async () => {
    const pod = await newPod("gone", LABELS);
    const token = await tokenOf({ pod });
    await api.client.write({
      method: "DELETE",
      path: `${PODS}/gone`,
      body: { gracePeriodSeconds: 0 },
    });
    const claim = await identity.verifyToken(token);
    await expect(identity.readPod(claim)).rejects.toMatchObject({ code: "ERR_POD_UNKNOWN" });
    // The name again, as a StatefulSet would: another pod.
    await newPod("gone", LABELS);
    await expect(identity.readPod(claim)).rejects.toMatchObject({ code: "ERR_POD_UNKNOWN" });
  });

  it("of a pod of no revision opens nothing", async () => {
    const pod = await newPod("bare", {});
    const claim = await identity.verifyToken(await tokenOf({ pod }));
    await expect(identity.readPod(claim)).rejects.toMatchObject({ code: "ERR_POD_UNKNOWN" });
  });
});

describe("the activator's rights", () => {
  it("let it look up a revision by name", async () => {
    const read = createApiReader({ apiUrl: api.url, accountFolder: folder });
    const path = "/apis/serving.knative.dev/v1/namespaces/default/revisions/nobody-00001";
    expect(await read(path)).toBeUndefined();
    await expect(read("/api/v1/namespaces/default/pods")).rejects.toMatchObject({
      code: "ERR_API_UNAVAILABLE",
    });
    expect(readFileSync(join(folder, "token"), "utf8")).not.toBe("");
  });

  it("end in a way that is told apart from an answer when the server is gone", async () => {
    const pod = await newPod("while-away", LABELS);
    const claim = await identity.verifyToken(await tokenOf({ pod }));
    await api.killServer();
    await expect(identity.readPod(claim)).rejects.toMatchObject({ code: "ERR_API_UNAVAILABLE" });
    await api.startServer();
    // It serves before it knows its roles again.
    const facts = await eventually(() => identity.readPod(claim), { timeoutMs: 30_000 });
    expect(facts).toMatchObject({ revision: "echo-00001" });
  }, 120_000);
});
