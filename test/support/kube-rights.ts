/** Roles of our manifests on an API server of the tests, so that a process has those rights and no others. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { create } from "./kube-api.ts";
import type { KubeApi } from "./kube-api.ts";

const ROOT = join(import.meta.dirname, "../..");
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

interface Role {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export async function grant({ client }: Pick<KubeApi, "client">, file: string): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(join(ROOT, file), "utf8"))) {
    // Manifests of ours.
    const role = document.toJS() as Role;
    const { namespace = "knative-serving" } = role.metadata;
    const plural = `${role.kind.toLowerCase()}s`;
    const path = role.kind.startsWith("Cluster")
      ? `${RBAC}/${plural}`
      : `${RBAC}/namespaces/${namespace}/${plural}`;
    const subjects = Reflect.get(role, "subjects") as readonly object[] | undefined;
    const bound =
      subjects === undefined
        ? role
        : { ...role, subjects: subjects.map((subject) => ({ namespace, ...subject })) };
    await create(client, path, bound);
  }
}
