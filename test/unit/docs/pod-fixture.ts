/** A pod of local mode as plain data, for tests that look at what its processes are given. */
import { DEFAULT_READINESS } from "../../../local/probe-reader.ts";
import type { PodPlace, PodPlan } from "../../../local/pod-types.ts";

export const PLAN: PodPlan = {
  key: "default/echo-00001",
  namespace: "default",
  service: "echo",
  configuration: "echo",
  revision: "echo-00001",
  card: "default",
  launch: {
    kind: "process",
    command: "node",
    args: ["server.ts"],
    cwd: "/",
    shown: "node server.ts",
  },
  template: {
    annotations: {},
    containerConcurrency: 1,
    timeoutSeconds: 900,
    responseStartTimeoutSeconds: 0,
    idleTimeoutSeconds: 0,
    container: {
      name: "user-container",
      image: "example",
      command: [],
      args: [],
      workingDir: "",
      env: {},
      containerPort: 8080,
      protocol: "http1",
      readiness: DEFAULT_READINESS,
      startup: null,
      liveness: null,
      wantsGpu: false,
    },
  },
};

export const PLACE: PodPlace = {
  uid: "00000000-0000-0000-0000-000000000001",
  name: "echo-00001-abcde",
  address: "127.1.2.3",
  userPort: 20_001,
  root: "/root-of-pod",
};
