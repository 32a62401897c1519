/** What has to hold before anything is compared: the rig runs stock Knative as it is meant. */
import { kubectl } from "../../../scripts/cluster/kubectl.ts";
import { NODES } from "../../../scripts/cluster/layout.ts";
import { call } from "../rig/client.ts";
import { deploy, podsOf, remove, waitForNone } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

export const stockSteps: readonly Step[] = [
  {
    name: "stock: a service becomes Ready and answers through the ingress",
    async run() {
      const ms = await deploy({
        name: "hello",
        annotations: { class: CLASS.stock, window: "10s" },
      });
      const answer = await call({ service: "hello" });
      expect(answer.status === 200, `the answer was ${answer.status} ${answer.body}`);
      return `apply to Ready ${(ms / 1000).toFixed(1)} s`;
    },
  },
  {
    name: "stock: it goes to zero and answers from zero",
    async run() {
      await waitForNone("hello");
      const answer = await call({ service: "hello" });
      expect(answer.status === 200, `the answer was ${answer.status} ${answer.body}`);
      await remove("hello");
      return `first answer after ${(answer.ms / 1000).toFixed(2)} s`;
    },
  },
  {
    name: "two kinds of cards: services that ask for one spread over both nodes",
    run: twoCards,
  },
];

async function twoCards(): Promise<string> {
  await deploy({
    name: "cards",
    annotations: { class: CLASS.stock, "min-scale": "4", "max-scale": "4", "initial-scale": "4" },
    resources: {
      requests: { cpu: "5m", "nvidia.com/gpu": "1" },
      limits: { "nvidia.com/gpu": "1" },
    },
  });
  const used = new Set((await podsOf("cards")).map(({ spec }) => spec.nodeName));
  const labels = await kubectl("get", "nodes", "-L", "nvidia.com/gpu.product", "--no-headers");
  await remove("cards");
  expect(used.size === NODES.length, `pods were on ${[...used].join(", ")} only`);
  for (const { card } of NODES) expect(labels.includes(card), `no node has the label ${card}`);
  return `4 pods on ${[...used].join(" and ")}`;
}
