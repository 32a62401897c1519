/** The webhook process against a real API server that calls it: trust, renewal, judgement. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeServerCertificate } from "../../autoscaler/webhook/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { create, remove, startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";

const SOON = { timeoutMs: 30_000, everyMs: 50 };
const NS = "knative-serving";
const SECRET = `/api/v1/namespaces/${NS}/secrets/pilotlight-webhook-certs`;
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const SERVICES = "/apis/serving.knative.dev/v1/namespaces/default/services";

interface Secret {
  readonly data: Readonly<Record<string, string>>;
}

interface Configuration {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

interface Webhook {
  readonly child: ChildProcess;
  readonly admin: string;
  readonly port: number;
}

let api: KubeApi;
const webhooks: Webhook[] = [];

beforeAll(async () => {
  api = await startKubeApi();
}, 90_000);

afterAll(async () => {
  for (const { child } of webhooks) child.kill("SIGKILL");
  await api?.stop();
});

async function startWebhook(): Promise<Webhook> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "../../autoscaler/webhook-main.ts")],
    {
      env: {
        PATH: process.env["PATH"],
        PILOTLIGHT_API_URL: api.url,
        PILOTLIGHT_ACCOUNT_FOLDER: api.accountFolder,
        PILOTLIGHT_WEBHOOK_LISTEN: "127.0.0.1:0",
        PILOTLIGHT_ADMIN_LISTEN: "127.0.0.1:0",
        // One of the names in the certificate, and one that resolves here.
        PILOTLIGHT_WEBHOOK_SERVICE: "localhost",
      },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    },
  );
  const [said] = (await once(child, "message")) as [{ url: string; webhook: { port: number } }];
  const webhook = { child, admin: said.url, port: said.webhook.port };
  webhooks.push(webhook);
  return webhook;
}

const hook = (name: string, port: number, path: string): object => ({
  name,
  admissionReviewVersions: ["v1"],
  clientConfig: { url: `https://localhost:${port}/${path}` },
  failurePolicy: "Fail",
  sideEffects: "None",
  timeoutSeconds: 5,
  rules: [
    {
      apiGroups: ["serving.knative.dev"],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["services", "configurations"],
      scope: "Namespaced",
    },
  ],
});

async function configure(port: number): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const defaulting = "defaulting.webhook.pilotlight.dev";
  const validation = "validation.webhook.pilotlight.dev";
  await create(api.client, `${ADMISSION}/mutatingwebhookconfigurations`, {
    apiVersion,
    kind: "MutatingWebhookConfiguration",
    metadata: { name: defaulting },
    webhooks: [hook(defaulting, port, "defaulting")],
  });
  await create(api.client, `${ADMISSION}/validatingwebhookconfigurations`, {
    apiVersion,
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: validation },
    webhooks: [hook(validation, port, "validation")],
  });
}

function service(
  name: string,
  annotations: Record<string, string>,
  resources = {},
): {
  readonly metadata: { readonly name: string };
} {
  return {
    apiVersion: "serving.knative.dev/v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: {
      template: {
        metadata: {
          annotations: { "autoscaling.knative.dev/class": "scaler.pilotlight.dev", ...annotations },
        },
        spec: { containers: [{ image: "example.invalid/app", resources }] },
      },
    },
  } as unknown as { metadata: { name: string } };
}

const isReady = ({ admin }: Webhook): Promise<unknown> =>
  eventually(async () => (await fetch(`${admin}/readyz`)).status === 200, SOON);

describe("the webhook on a real API server", () => {
  it("makes its certificate, tells the API server whom to trust, and is then called", async () => {
    const first = await startWebhook();
    await isReady(first);
    await configure(first.port);
    const concurrency = async (): Promise<unknown> => {
      const made = await create<{
        spec?: { template?: { spec?: { containerConcurrency?: number } } };
      }>(api.client, SERVICES, service("gpu", {}, { limits: { "nvidia.com/gpu": "1" } }) as never);
      return made.spec?.template?.spec?.containerConcurrency;
    };
    // Until the authority is there, the API server refuses: failure policy Fail, for this test.
    expect(await eventually(concurrency, SOON)).toBe(1);
    await remove(api.client, `${SERVICES}/gpu`);
  });

  it("refuses with every field named, and kubectl would show it", async () => {
    const bad = service("bad", {
      "autoscaling.knative.dev/min-scale": "3",
      "autoscaling.knative.dev/max-scale": "2",
      "pilotlight.dev/scaling-buffer": "lots",
    });
    await expect(create(api.client, SERVICES, bad)).rejects.toThrow(
      /max-scale=2 is less than min-scale=3/,
    );
    await expect(create(api.client, SERVICES, bad)).rejects.toThrow(
      /invalid value: lots: pilotlight.dev\/scaling-buffer/,
    );
  });

  it("shares one certificate between replicas that start together", async () => {
    await remove(api.client, SECRET);
    const [left, right] = await Promise.all([startWebhook(), startWebhook()]);
    await Promise.all([isReady(left), isReady(right)]);
    const { data } = await api.client.read<Secret>(SECRET);
    const bundle = await eventually(async () => {
      const found = await api.client.read<Configuration>(
        `${ADMISSION}/validatingwebhookconfigurations/validation.webhook.pilotlight.dev`,
      );
      const { caBundle } = found.webhooks[0]?.clientConfig ?? {};
      return caBundle === data["ca.crt"] ? caBundle : undefined;
    }, SOON);
    expect(bundle).toBeDefined();
    for (const { child } of webhooks.splice(1)) child.kill("SIGTERM");
  });

  it("renews a certificate that ends soon, and trusts the old authority until then", async () => {
    const old = makeServerCertificate({
      names: ["localhost"],
      nowMs: Date.now(),
      validMs: 10 * 86_400_000,
    });
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    await api.client.write({
      method: "PATCH",
      patch: "merge-patch",
      path: SECRET,
      body: {
        data: {
          "tls.crt": base64(old.cert),
          "tls.key": base64(old.key),
          "ca.crt": base64(old.authority),
        },
      },
    });
    const next = await startWebhook();
    await isReady(next);
    const { data } = await api.client.read<Secret>(SECRET);
    expect(data["tls.crt"]).not.toBe(base64(old.cert));
    const bundle = Buffer.from(data["ca.crt"] ?? "", "base64").toString();
    expect(bundle).toContain(old.authority.trim());
    expect(bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    next.child.kill("SIGTERM");
    expect((await once(next.child, "exit"))[0]).toBe(0);
  });

  it("counts what it said", async () => {
    const text = await (await fetch(`${webhooks[0]?.admin ?? ""}/metrics`)).text();
    expect(text).toMatch(/pilotlight_webhook_reviews_total\{result="refused"\} [1-9]/);
    expect(text).toMatch(/pilotlight_webhook_reviews_total\{result="defaulted"\} [1-9]/);
  });
});
