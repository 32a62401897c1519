/** Kubernetes quantities as plain numbers: `50m` is 0.05, `64Mi` is 67108864. */

const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  m: 0.001,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** `null` for anything that is no quantity. */
export function parseQuantity(value: unknown): number | null {
  if (typeof value === "number") return value >= 0 ? value : null;
  if (typeof value !== "string") return null;
  const match = /^(\d+(?:\.\d+)?)([mkMGT]|[KMGT]i)?$/.exec(value);
  const factor = FACTORS[match?.[2] ?? ""];
  return match === null || factor === undefined ? null : Number(match[1]) * factor;
}
