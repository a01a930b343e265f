import type { NetworkResource, Port, TaskGroup } from '@reeve/contract'
import { DEFAULT_HOST_NETWORK } from '../../model/index.ts'

/** A port that a group needs on its node. */
export interface PortAsk extends Port {
  /** The task whose own network it belongs to; undefined for the network of the group. */
  readonly task: string | undefined
  readonly isStatic: boolean
}

/**
 * Every port of a group (only the first network of the group and of each task counts). Static ones
 * come first, so that no dynamic port takes their number.
 */
export function portsOf(group: TaskGroup): readonly PortAsk[] {
  const networks = [
    { task: undefined, network: group.Networks?.[0] },
    ...group.Tasks.map((task) => ({ task: task.Name, network: task.Resources.Networks?.[0] })),
  ]
  const asks = networks.flatMap(({ task, network }) =>
    network === undefined ? [] : networkPorts(network, task),
  )
  return [...asks.filter((ask) => ask.isStatic), ...asks.filter((ask) => !ask.isStatic)]
}

function networkPorts(network: NetworkResource, task: string | undefined): readonly PortAsk[] {
  // The network of a task has one address, so all its ports are at it.
  const where = task === undefined ? {} : { HostNetwork: DEFAULT_HOST_NETWORK }
  const ask = (port: Port, isStatic: boolean): PortAsk => ({ ...port, ...where, task, isStatic })
  return [
    ...(network.ReservedPorts ?? []).map((port) => ask(port, true)),
    ...(network.DynamicPorts ?? []).map((port) => ask(port, false)),
  ]
}
