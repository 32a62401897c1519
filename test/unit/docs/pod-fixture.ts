/** A pod of local mode as plain data, for tests that look at what its processes are given. */
import { parseServiceFile } from "../../../local/service-files.ts";
import type { PodPlace, PodPlan } from "../../../local/pod-types.ts";

const FILE = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: echo }
spec: { template: { spec: { containers: [{ image: example }] } } }
`;

export function podPlan(): PodPlan {
  const [service] = parseServiceFile("/service.yaml", FILE, {}).services;
  if (service === undefined) throw new Error("the service file of this test is faulty");
  return {
    key: "default/echo-00001",
    namespace: service.namespace,
    service: service.name,
    configuration: service.name,
    revision: "echo-00001",
    card: "default",
    launch: { kind: "process", command: "node", args: [], cwd: "/", shown: "node" },
    template: service.template,
  };
}

export const PLACE: PodPlace = {
  uid: "00000000-0000-0000-0000-000000000001",
  name: "echo-00001-abcde",
  address: "127.1.2.3",
  userPort: 20_001,
  root: "/root-of-pod",
};
