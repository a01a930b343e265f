import { Fault } from '@reeve/kit/fault.ts'
import type { AgentAllocation } from '../assignment.ts'
import type { DriverAddress } from '../driver.ts'
import { ownValue } from '../own-value.ts'

/** Where somebody is reached. A port of 0: the service has none. */
export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** What is known of the networks that an allocation is in. */
export interface Surroundings {
  readonly allocation: AgentAllocation
  /** The task that the service belongs to; empty for the group. */
  readonly task: string
  /** The node's own address. */
  readonly hostIp: string
  /** What the driver gave the task. */
  readonly driver: DriverAddress | undefined
  /** The allocation's address in a network namespace of its own. */
  readonly allocationIp: string | undefined
}

interface Wanted {
  /** `auto`, `host`, `driver`, `alloc` or `alloc_ipv6`; empty means `auto`. */
  readonly mode: string
  /** A label, or a number where the mode takes one. */
  readonly portLabel: string
  /** What the job says; empty when it leaves it to the mode. */
  readonly address: string
}

/**
 * Where a service, or a check of it, is reached. Throws a Fault `task-invalid` that says what is
 * missing.
 */
export function endpointOf({ mode, portLabel, address }: Wanted, around: Surroundings): Endpoint {
  const port = findPort(around, portLabel)
  const number = /^\d{1,5}$/.test(portLabel) ? Number(portLabel) : undefined
  if (address !== '') return { address, port: port?.hostPort ?? number ?? noPort(portLabel) }
  switch (mode) {
    case 'host':
      return hostEndpoint(around, portLabel)
    case 'driver':
      return driverEndpoint(around, portLabel)
    case 'alloc':
    case 'alloc_ipv6':
      return {
        address: around.allocationIp ?? missing(mode, 'the allocation has no network of its own'),
        port: port === undefined ? (number ?? noPort(portLabel)) : port.to || port.hostPort,
      }
    default:
      // A port of the machine is reached from everywhere; the driver's own is better than nothing.
      return port === undefined && around.driver !== undefined
        ? driverEndpoint(around, portLabel)
        : hostEndpoint(around, portLabel)
  }
}

function hostEndpoint(around: Surroundings, portLabel: string): Endpoint {
  const port = findPort(around, portLabel)
  if (port !== undefined) return { address: port.hostIp || around.hostIp, port: port.hostPort }
  const number = /^\d{1,5}$/.test(portLabel) ? Number(portLabel) : undefined
  return { address: around.hostIp, port: number ?? noPort(portLabel) }
}

function driverEndpoint({ driver, ...around }: Surroundings, portLabel: string): Endpoint {
  if (driver === undefined) return missing('driver', 'the driver gave the task no address')
  const inside = ownValue(driver.ports, portLabel)
  const port = findPort({ driver, ...around }, portLabel)
  const number = /^\d{1,5}$/.test(portLabel) ? Number(portLabel) : undefined
  return {
    address: driver.ip,
    port: inside ?? (port === undefined ? (number ?? noPort(portLabel)) : port.to || port.hostPort),
  }
}

interface FoundPort {
  readonly hostIp: string
  readonly hostPort: number
  readonly to: number
}

function findPort({ allocation, task }: Surroundings, label: string): FoundPort | undefined {
  if (label === '') return undefined
  const { Shared, Tasks } = allocation.AllocatedResources
  const shared = (Shared.Ports ?? []).find((port) => port.Label === label)
  if (shared !== undefined) return { hostIp: shared.HostIP, hostPort: shared.Value, to: shared.To }
  for (const network of ownValue(Tasks, task)?.Networks ?? []) {
    const ports = [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])]
    const own = ports.find((port) => port.Label === label)
    if (own !== undefined) return { hostIp: network.IP, hostPort: own.Value, to: own.To }
  }
  return undefined
}

/** A service without a port is only a name. */
function noPort(label: string): number {
  if (label === '') return 0
  throw new Fault('task-invalid', `the port ${JSON.stringify(label)} of a service does not exist`)
}

function missing(mode: string, why: string): never {
  throw new Fault('task-invalid', `address_mode ${JSON.stringify(mode)} cannot be used: ${why}`)
}
