/**
 * How long the rows that wait do so. The field reports say minutes; `npm run test:long` waits as they
 * say, the ordinary proof a stated part of it.
 */
const isLong = process.argv.includes("--long");

export const PACE = {
  isLong,
  /** F20: limit of the first byte, and how long the socket is watched; a tenth in short. */
  startLimitMs: isLong ? 10_000 : 1_000,
  socketMs: isLong ? 60_000 : 6_000,
  /** F21: silence in a stream, and before an answer; 1/40 in short. */
  silenceMs: isLong ? 330_000 : 8_250,
  lateHeadMs: isLong ? 310_000 : 7_750,
  /** F02: how long a container loads; a tenth in short. */
  loadMs: isLong ? 20_000 : 2_000,
  /** F05: time limit, and the request that is in flight; a sixth in short. */
  graceMs: isLong ? 120_000 : 20_000,
  inFlightMs: isLong ? 90_000 : 12_000,
  /** F08: how long a container boots, and its first answer takes; a twentieth in short. */
  bootMs: isLong ? 15_000 : 750,
  firstAnswerMs: isLong ? 10_000 : 500,
  /** And how much later it may be; in short the start of the sidecar itself counts, on a busy machine. */
  coldLateMs: isLong ? 1_000 : 60_000,
  /** F15: callers that share the 200 requests; as written there is one, for a thousand seconds. */
  reuseLanes: isLong ? 1 : 50,
  rowLimitMs: isLong ? 1_300_000 : 90_000,
} as const;
