/** The certificates and keys of one rig: made anew at each start, gone with it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLUSTER_DOMAIN, NETWORK, NODES, runFolder } from "./layout.ts";
import { run } from "./run.ts";

const FOLDER = runFolder("pki");
const DAYS = "30";

export const certificate = (name: string): string => join(FOLDER, `${name}.crt`);
export const key = (name: string): string => join(FOLDER, `${name}.key`);

interface Signed {
  readonly name: string;
  readonly subject: string;
  readonly authority: string;
  /** Subject alternative names, for servers. */
  readonly names?: readonly string[];
}

const servers: readonly Signed[] = [
  {
    name: "apiserver",
    subject: "/CN=kube-apiserver",
    authority: "ca",
    names: [
      `IP:${NETWORK.control}`,
      `IP:${NETWORK.apiService}`,
      "IP:127.0.0.1",
      "DNS:kubernetes",
      "DNS:kubernetes.default",
      "DNS:kubernetes.default.svc",
      `DNS:kubernetes.default.svc.${CLUSTER_DOMAIN}`,
    ],
  },
  ...NODES.map(({ name, address }) => ({
    name: `kubelet-${name}`,
    subject: `/O=system:nodes/CN=system:node:${name}`,
    authority: "ca",
    names: [`IP:${address}`, `DNS:${name}`],
  })),
];

const clients: readonly Signed[] = [
  { name: "front-proxy", subject: "/CN=front-proxy", authority: "front-proxy-ca" },
  { name: "kubelet-client", subject: "/O=system:masters/CN=apiserver-kubelet", authority: "ca" },
];

export async function makeCertificates(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  await Promise.all([authority("ca"), authority("front-proxy-ca"), signingKey()]);
  await Promise.all([...servers, ...clients].map(sign));
}

async function authority(name: string): Promise<void> {
  await newKey(name);
  const args = ["req", "-x509", "-new", "-key", key(name), "-out", certificate(name)];
  await run("openssl", [...args, "-subj", `/CN=${name}`, "-days", DAYS]);
}

/** Signs service-account tokens. */
async function signingKey(): Promise<void> {
  await run("openssl", ["genrsa", "-out", key("service-accounts"), "2048"]);
}

async function sign({ name, subject, authority: by, names = [] }: Signed): Promise<void> {
  await newKey(name);
  const request = join(FOLDER, `${name}.csr`);
  await run("openssl", ["req", "-new", "-key", key(name), "-subj", subject, "-out", request]);
  const extensions = join(FOLDER, `${name}.ext`);
  const usage = "extendedKeyUsage=serverAuth,clientAuth\n";
  const alternatives = names.length === 0 ? "" : `subjectAltName=${names.join(",")}\n`;
  writeFileSync(extensions, usage + alternatives);
  const args = ["x509", "-req", "-in", request, "-CA", certificate(by), "-CAkey", key(by)];
  await run("openssl", [
    ...args,
    "-CAserial",
    join(FOLDER, `${name}.srl`),
    "-CAcreateserial",
    "-days",
    DAYS,
    "-extfile",
    extensions,
    "-out",
    certificate(name),
  ]);
}

async function newKey(name: string): Promise<void> {
  const curve = ["ecparam", "-genkey", "-name", "prime256v1", "-noout"];
  await run("openssl", [...curve, "-out", key(name)]);
}
