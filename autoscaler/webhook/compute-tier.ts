/**
 * What `compute-tier` means in a cluster: on which nodes pods may stand, by the label that tells the
 * operator's reclaimable nodes from the others, and that nobody moves protected pods to save a node.
 * Written into the template at admission, so that it holds for pods that start later and for no others.
 */
import type { ComputeTier } from "../../common/compute-tier.ts";
import type { TierLabel } from "../core/settings/defaults.ts";

/** Of pods that consolidation must leave where they are. */
export const KEEP_IN_PLACE: Readonly<Record<string, string>> = {
  "karpenter.sh/do-not-disrupt": "true",
  "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
};
/** Of the preference for nodes that cost less; the largest there is. */
const PREFERENCE_WEIGHT = 100;

interface Requirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}
interface SelectorTerm {
  readonly matchExpressions?: readonly Requirement[] | null;
}
interface Preference {
  readonly weight?: number;
  readonly preference?: SelectorTerm;
}
interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: {
    readonly nodeSelectorTerms?: readonly SelectorTerm[] | null;
  } | null;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly Preference[] | null;
}
/** `spec.affinity` of a pod, as far as it is read here; what else stands in it stays. */
export interface Affinity {
  readonly nodeAffinity?: NodeAffinity | null;
}

/** The affinity of a template with that of its tier in it; the same object where nothing is missing. */
export function affinityOf(
  affinity: Affinity,
  tier: ComputeTier,
  label: TierLabel | null,
): Affinity {
  if (label === null) return affinity;
  const nodeAffinity = affinity.nodeAffinity ?? {};
  const wanted: Requirement = { key: label.key, operator: "In", values: [label[tier]] };
  const changed =
    tier === "protected" ? required(nodeAffinity, wanted) : preferred(nodeAffinity, wanted);
  return changed === nodeAffinity ? affinity : { ...affinity, nodeAffinity: changed };
}

/** Terms are alternatives: each of them has to name the nodes. */
function required(nodeAffinity: NodeAffinity, wanted: Requirement): NodeAffinity {
  const selector = nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length > 0 && terms.every((term) => names(term, wanted))) return nodeAffinity;
  const narrowed = (terms.length === 0 ? [{}] : terms).map((term: SelectorTerm) =>
    names(term, wanted)
      ? term
      : { ...term, matchExpressions: [...(term.matchExpressions ?? []), wanted] },
  );
  return {
    ...nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { ...selector, nodeSelectorTerms: narrowed },
  };
}

function preferred(nodeAffinity: NodeAffinity, wanted: Requirement): NodeAffinity {
  const preferences = nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  if (preferences.some(({ preference }) => names(preference ?? {}, wanted))) return nodeAffinity;
  const own = { weight: PREFERENCE_WEIGHT, preference: { matchExpressions: [wanted] } };
  return {
    ...nodeAffinity,
    preferredDuringSchedulingIgnoredDuringExecution: [...preferences, own],
  };
}

function names(term: SelectorTerm, wanted: Requirement): boolean {
  return (term.matchExpressions ?? []).some(
    ({ key, operator, values = [] }) =>
      key === wanted.key && operator === wanted.operator && values.join() === wanted.values?.join(),
  );
}
