/** A cold start as parts that follow each other, and what of it was the platform's. Pure. */

/** @typedef {import("../../../common/contracts/channels.ts").ColdStartRecord} ColdStartRecord */

/** Each part ends at the instant named; those of the container are its own start, not ours. */
const PARTS = /** @type {const} */ ([
  { name: "decide", end: "decidedAt", owner: "platform", says: "request to decision" },
  { name: "create", end: "spawnedAt", owner: "platform", says: "decision to process" },
  { name: "boot", end: "listeningAt", owner: "container", says: "process to listening" },
  { name: "load", end: "readyAt", owner: "container", says: "listening to ready" },
  { name: "dispatch", end: "dispatchedAt", owner: "platform", says: "ready to dispatched" },
  { name: "answer", end: "firstByteAt", owner: "request", says: "dispatched to first byte" },
]);

/** @typedef {typeof PARTS[number] & { startMs: number, ms: number }} Phase */

/**
 * Marks that are missing join their part to the next one; marks before the request (a pod that was
 * already starting) make parts without length.
 * @param {ColdStartRecord} record
 */
export function phasesOf(record) {
  let at = record.requestAt;
  /** @type {Phase[]} */
  const phases = [];
  for (const part of PARTS) {
    const endAt = record[part.end];
    if (endAt === null) continue;
    const end = Math.max(at, endAt);
    phases.push({ ...part, startMs: at - record.requestAt, ms: end - at });
    at = end;
  }
  const sumOf = (/** @type {string} */ owner) =>
    phases.reduce((sum, phase) => sum + (phase.owner === owner ? phase.ms : 0), 0);
  return {
    phases,
    totalMs: at - record.requestAt,
    platformMs: sumOf("platform"),
    containerMs: sumOf("container"),
  };
}
