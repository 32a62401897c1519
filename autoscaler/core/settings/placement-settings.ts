/** The keys that say where pods may stand: tier, cards, regions; and who may call. */
import type { ClusterDefaults } from "./defaults.ts";
import { shown } from "./problems.ts";
import { splitList } from "./reader.ts";
import type { SettingsReader } from "./reader.ts";
import type { PlacementSettings, SettingsInput } from "./types.ts";

const MAX_CARDS = 5;
/** Every cell of the platform. */
export const GLOBAL_REGION = "global";

export function readPlacementSettings(
  reader: SettingsReader,
  defaults: ClusterDefaults,
  input: SettingsInput,
): PlacementSettings {
  const auth = reader.own("auth");
  return {
    computeTier: reader.word(
      reader.own("compute-tier"),
      ["interruptible", "protected"],
      "interruptible",
    ),
    gpuPreference: readCards(reader, input.knownCards),
    regions: readRegions(reader, input.knownRegions),
    auth: auth === null ? defaults.auth : reader.word(auth, ["none", "jwt"], "jwt"),
    localCommand: reader.own("local-command")?.text ?? null,
  };
}

function readCards(reader: SettingsReader, known: SettingsInput["knownCards"]): readonly string[] {
  const found = reader.own("gpu-preference");
  if (found === null) return [];
  const cards = splitList(found.text);
  if (cards.length < 1 || cards.length > MAX_CARDS) {
    reader.problems.outOfBounds(cards.length, [1, MAX_CARDS], found.path);
    return [];
  }
  if (known === undefined) return cards;
  const unknown = cards.filter((card) => !Object.hasOwn(known, card));
  for (const card of unknown) {
    reader.problems.add(`unknown GPU type "${shown(card)}"`, found.path);
  }
  const accepted = cards.filter((card) => !unknown.includes(card));
  const families = [...new Set(accepted.map((card) => known[card]))];
  if (families.length > 1) {
    reader.problems.add(`cannot mix families ${families.join(" and ")}`, found.path);
    return [];
  }
  return accepted;
}

function readRegions(
  reader: SettingsReader,
  known: readonly string[] | undefined,
): readonly string[] {
  const found = reader.own("regions");
  if (found === null || found.text === "") return [];
  const regions = splitList(found.text);
  if (known === undefined) return regions;
  const unknown = regions.filter((name) => name !== GLOBAL_REGION && !known.includes(name));
  for (const name of unknown) reader.problems.add(`unknown region "${shown(name)}"`, found.path);
  return regions.filter((name) => !unknown.includes(name));
}
