/** `PILOTLIGHT_CARD_PRICES`: what an hour of a card costs, so that the dashboard can say what runs cost. */
import { PlatformError } from "./errors.ts";

/** `h100=3.9,*=1.2`; undefined when nothing is said. */
export function readCardPrices(text: string): Readonly<Record<string, number>> | undefined {
  if (text === "") return undefined;
  const entries = text.split(",").map((part): [string, number] => {
    const [card = "", price = ""] = part.split("=").map((word) => word.trim());
    if (card === "" || !/^\d+(?:\.\d+)?$/.test(price)) {
      const form = "expected CARD=PRICE per hour, comma between, as in h100=3.9,*=1.2";
      throw new PlatformError(
        "ERR_CONFIG_INVALID",
        `PILOTLIGHT_CARD_PRICES: got "${part}", ${form}`,
      );
    }
    return [card, Number(price)];
  });
  return Object.fromEntries(entries);
}
