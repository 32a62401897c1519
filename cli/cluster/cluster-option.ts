/** The options with which a command looks at a cluster instead of at this machine. */
import { RUN_FOLDER_OPTION } from "../command.ts";
import type { CommandContext, OptionHelp } from "../command.ts";

export const CLUSTER_OPTIONS: Readonly<Record<string, OptionHelp>> = {
  cluster: { type: "boolean", help: "a cluster, by KUBECONFIG, instead of this machine" },
  context: { type: "string", value: "NAME", help: "its context in the kubeconfig; a cluster too" },
};

/** Of commands that know both. */
export const PLACE_OPTIONS: Readonly<Record<string, OptionHelp>> = {
  ...CLUSTER_OPTIONS,
  ...RUN_FOLDER_OPTION,
};

export function wantsCluster({ options }: Pick<CommandContext, "options">): boolean {
  return options.flag("cluster") || options.text("context") !== undefined;
}
