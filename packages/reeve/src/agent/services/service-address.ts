import { Fault } from '@reeve/kit/fault.ts'
import type { AgentAllocation } from '../assignment.ts'
import type { DriverAddress } from '../driver.ts'
import { getOwn } from '../own-value.ts'

/** Address and port. Port 0: the service has none. */
export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** Addresses of an allocation and its networks. */
export interface AddressSources {
  readonly allocation: AgentAllocation
  /** Task that owns the service; empty for the group. */
  readonly task: string
  /** Address of the node. */
  readonly hostIp: string
  /** Address that the driver assigned to the task. */
  readonly driver: DriverAddress | undefined
  /** Address of the allocation in its own network. */
  readonly allocationIp: string | undefined
}

interface AddressRequest {
  /** `auto`, `host`, `driver`, `alloc` or `alloc_ipv6`; empty means `auto`. */
  readonly mode: string
  /** Port label, or a number if the mode allows one. */
  readonly portLabel: string
  /** Address from the job; empty to derive it from the mode. */
  readonly address: string
}

/** Address of a service or check. Throws a Fault `task-invalid` that names what is missing. */
export function endpointOf(
  { mode, portLabel, address }: AddressRequest,
  sources: AddressSources,
): Endpoint {
  const port = findPort(sources, portLabel)
  const number = /^\d{1,5}$/.test(portLabel) ? Number(portLabel) : undefined
  if (address !== '')
    return { address, port: port?.hostPort ?? number ?? requireNoLabel(portLabel) }
  switch (mode) {
    case 'host':
      return hostEndpoint(sources, portLabel)
    case 'driver':
      return driverEndpoint(sources, portLabel)
    case 'alloc':
    case 'alloc_ipv6':
      return {
        address:
          sources.allocationIp ??
          throwUnusableMode(mode, 'the allocation has no network of its own'),
        port: port === undefined ? (number ?? requireNoLabel(portLabel)) : port.to || port.hostPort,
      }
    default:
      // A port of the machine is reachable from everywhere; the driver's address is the fallback.
      return port === undefined && sources.driver !== undefined
        ? driverEndpoint(sources, portLabel)
        : hostEndpoint(sources, portLabel)
  }
}

function hostEndpoint(sources: AddressSources, portLabel: string): Endpoint {
  const port = findPort(sources, portLabel)
  if (port !== undefined) return { address: port.hostIp || sources.hostIp, port: port.hostPort }
  const number = /^\d{1,5}$/.test(portLabel) ? Number(portLabel) : undefined
  return { address: sources.hostIp, port: number ?? requireNoLabel(portLabel) }
}

function driverEndpoint({ driver, ...sources }: AddressSources, portLabel: string): Endpoint {
  if (driver === undefined)
    return throwUnusableMode('driver', 'the driver gave the task no address')
  const driverPort = getOwn(driver.ports, portLabel)
  const port = findPort({ driver, ...sources }, portLabel)
  const number = /^\d{1,5}$/.test(portLabel) ? Number(portLabel) : undefined
  return {
    address: driver.ip,
    port:
      driverPort ??
      (port === undefined ? (number ?? requireNoLabel(portLabel)) : port.to || port.hostPort),
  }
}

interface AssignedPort {
  readonly hostIp: string
  readonly hostPort: number
  readonly to: number
}

function findPort({ allocation, task }: AddressSources, label: string): AssignedPort | undefined {
  if (label === '') return undefined
  const { Shared, Tasks } = allocation.AllocatedResources
  const groupPort = (Shared.Ports ?? []).find((port) => port.Label === label)
  if (groupPort !== undefined)
    return { hostIp: groupPort.HostIP, hostPort: groupPort.Value, to: groupPort.To }
  for (const network of getOwn(Tasks, task)?.Networks ?? []) {
    const ports = [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])]
    const taskPort = ports.find((port) => port.Label === label)
    if (taskPort !== undefined)
      return { hostIp: network.IP, hostPort: taskPort.Value, to: taskPort.To }
  }
  return undefined
}

/** Port of a service without one is 0; an unknown label is an error. */
function requireNoLabel(label: string): number {
  if (label === '') return 0
  throw new Fault('task-invalid', `the port ${JSON.stringify(label)} of a service does not exist`)
}

function throwUnusableMode(mode: string, reason: string): never {
  throw new Fault('task-invalid', `address_mode ${JSON.stringify(mode)} cannot be used: ${reason}`)
}
