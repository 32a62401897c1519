/** What the tier of a service's pods means for their price. */

export type ComputeTier = "interruptible" | "protected";

/** Price over the base price of a card: capacity that nobody takes back costs twice as much. */
export const PRICE_FACTORS: Readonly<Record<ComputeTier, number>> = {
  interruptible: 1,
  protected: 2,
};
