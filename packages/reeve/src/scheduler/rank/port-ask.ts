import type { NetworkResource, Port, TaskGroup } from '@reeve/contract'
import { DEFAULT_HOST_NETWORK } from '../../model/index.ts'

/** A host port that a group requires. */
export interface PortRequest extends Port {
  /** Task whose network has the port; undefined for the group network. */
  readonly task: string | undefined
  readonly isStatic: boolean
}

/**
 * Returns all ports of a group (only the first network of the group and of each task counts),
 * static ones first, so that dynamic ports do not take their numbers.
 */
export function portRequests(group: TaskGroup): readonly PortRequest[] {
  const networks = [
    { task: undefined, network: group.Networks?.[0] },
    ...group.Tasks.map((task) => ({ task: task.Name, network: task.Resources.Networks?.[0] })),
  ]
  const requests = networks.flatMap(({ task, network }) =>
    network === undefined ? [] : portRequestsOf(network, task),
  )
  return [...requests.filter((ask) => ask.isStatic), ...requests.filter((ask) => !ask.isStatic)]
}

function portRequestsOf(
  network: NetworkResource,
  task: string | undefined,
): readonly PortRequest[] {
  // All ports of a task network are on its single address.
  const hostNetwork = task === undefined ? {} : { HostNetwork: DEFAULT_HOST_NETWORK }
  const toRequest = (port: Port, isStatic: boolean): PortRequest => ({
    ...port,
    ...hostNetwork,
    task,
    isStatic,
  })
  return [
    ...(network.ReservedPorts ?? []).map((port) => toRequest(port, true)),
    ...(network.DynamicPorts ?? []).map((port) => toRequest(port, false)),
  ]
}
