/** Names of extended resources by which a pod asks for an accelerator. */

const GPU_RESOURCE = /(^|[./])gpu$|\/neuron(core|device)?$|\/gpu\./;

/** Of the names of what a container asks for. */
export function namesGpu(resources: Iterable<string>): boolean {
  for (const name of resources) {
    if (GPU_RESOURCE.test(name)) return true;
  }
  return false;
}
