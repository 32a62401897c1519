/**
 * CloudEvents that the autoscaler sends: their types, and what the data of each holds. Subject is
 * always the key of the revision. Explained with examples in docs/reference/events.md.
 */

/** `text`, `number` or `object`: the JSON type of a field. */
export type FieldType = "string" | "number" | "object";

export interface EventShape {
  /** When it is sent, in one sentence. */
  readonly when: string;
  readonly data: Readonly<Record<string, FieldType>>;
}

export const EVENT_SOURCE = "/pilotlight/autoscaler";

export const SCALING_EVENTS = {
  "dev.pilotlight.scale.changed": {
    when: "The number of pods wanted has changed.",
    data: {
      from: "number",
      to: "number",
      trigger: "string",
      reason: "string",
      explanation: "object",
    },
  },
  "dev.pilotlight.scale.zero": {
    when: "No pod is wanted any more; sent beside the change.",
    data: { from: "number", reason: "string" },
  },
  "dev.pilotlight.pod.started": {
    when: "A pod exists and has begun to start.",
    data: { pod: "string", name: "string", card: "string" },
  },
  "dev.pilotlight.pod.ready": {
    when: "A pod takes requests, for the first time or again.",
    data: { pod: "string", name: "string", card: "string", startMs: "number" },
  },
  "dev.pilotlight.target.quarantined": {
    when: "Routing leaves a target out after failures.",
    data: { pod: "string", name: "string", reason: "string" },
  },
  "dev.pilotlight.target.evicted": {
    when: "A target never recovered; its pod is replaced where the service wants that.",
    data: { pod: "string" },
  },
} as const satisfies Readonly<Record<string, EventShape>>;

export type ScalingEventType = keyof typeof SCALING_EVENTS;
