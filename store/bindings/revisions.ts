/** Bindings of the scripts about a revision as a whole: configuration, figures, event log. */
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import { ROUTING_KEYS } from "../keys.ts";
import type { RevisionFigures } from "../types.ts";
import type { Binding, Reply } from "./binding.ts";
import { flag } from "./binding.ts";

/** Until a simulation of the revision's own load finds a better one. */
const DEFAULT_ALPHA = 0.3;
const US_PER_MS = 1_000;
const us = (ms: number): string => String(Math.round(ms * US_PER_MS));

/** True: call again, the targets are being put in the order of another policy. */
export const configureRevision: Binding<RevisionConfig, boolean> = {
  script: "configure-revision",
  keys: ROUTING_KEYS,
  args: [
    "config",
    "policy",
    "depth",
    "quarantine",
    "quarantineMax",
    "action",
    "flaps",
    "scaleUpDelay",
    "startTime",
    "revision",
    "channel",
    "wake",
    "configs",
    "order",
    "limit",
    "places",
    "alpha",
    "rule",
    "now",
  ],
  encode: (config, { keys, now }) => [
    JSON.stringify(config),
    config.policy,
    String(config.queueDepth),
    us(config.quarantinePeriodMs),
    us(config.quarantineMaxMs),
    config.quarantineAction,
    String(config.flapThreshold),
    us(config.scaleUpDelayMs),
    String(Math.round(config.startTimeMs)),
    `${config.namespace}/${config.revision}`,
    keys.assignPrefix,
    keys.wakeChannel,
    keys.configChannel,
    config.queueOrder,
    us(config.starvationLimitMs),
    String(config.binding === "early" ? config.localQueue : 0),
    String(config.alpha ?? DEFAULT_ALPHA),
    config.dispatchRule ?? "wb",
    now,
  ],
  decode: (reply) => reply.flag(1),
};

type Figures = RevisionFigures & { readonly more: boolean };

export const readFigures: Binding<{ record: boolean }, Figures> = {
  script: "read-figures",
  keys: ROUTING_KEYS,
  args: ["record", "now"],
  encode: ({ record }, { now }) => [flag(record), now],
  decode: (reply) => (reply.status === "ok" ? decodeFigures(reply) : NO_FIGURES),
};

function decodeFigures(reply: Reply): Figures {
  return {
    at: reply.number(1),
    concurrencyIntegral: reply.number(2),
    arrivals: reply.number(3),
    since: reply.number(4),
    busy: reply.number(5),
    waiting: reply.number(6),
    aged: reply.number(7),
    oldestArrivedAt: reply.number(8),
    targetsByState: {
      starting: reply.number(9),
      ready: reply.number(10),
      unready: reply.number(11),
      suspected: reply.number(12),
      quarantined: reply.number(13),
      draining: reply.number(14),
    },
    more: reply.flag(15),
    evicted: reply.texts(16),
  };
}

/** Of a revision that the store does not know. */
const NO_FIGURES: Figures = {
  at: 0,
  concurrencyIntegral: 0,
  arrivals: 0,
  since: 0,
  busy: 0,
  waiting: 0,
  aged: 0,
  oldestArrivedAt: 0,
  targetsByState: {
    starting: 0,
    ready: 0,
    unready: 0,
    suspected: 0,
    quarantined: 0,
    draining: 0,
  },
  more: false,
  evicted: [],
};

export const switchEvents: Binding<{ on: boolean }, void> = {
  script: "switch-events",
  keys: ["meta", "events"],
  args: ["on"],
  encode: ({ on }) => [flag(on)],
  decode: () => undefined,
};
