import { createHash } from 'node:crypto'
import {
  SERVICE_PROVIDER,
  SERVICE_PROVIDER_ALIAS,
  TASK_ENVIRONMENT_PREFIX,
  type ReportedService,
} from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import type { AgentAllocation, AgentCheck, AgentService, Assignment } from '../assignment.ts'
import type { DriverAddress } from '../driver.ts'
import { getOwn } from '../node-info.ts'

/** Resolves references in a string; `field` names it in errors. */
type ResolveReferences = (text: string, field: string) => string

/** A check of a service with all references resolved. */
export interface PlannedCheck {
  /** Stable ID of the check in this allocation, by which results are found. */
  readonly id: string
  readonly name: string
  readonly service: string
  readonly group: string
  /** Empty for a service of the group. */
  readonly task: string
  readonly check: AgentCheck
  /** Address of the check; undefined for a script, which runs in the task. */
  readonly at: Endpoint | undefined
}

export interface PlannedService {
  readonly registration: ReportedService
  readonly checks: readonly PlannedCheck[]
}

interface ServicePlanInput {
  readonly assignment: Assignment
  readonly services: readonly AgentService[]
  /** Task that owns the services; empty for the group. */
  readonly task: string
  readonly addressSources: AddressSources
  readonly resolveReferences: ResolveReferences
}

/** Resolves the services of a group or task for registration. */
export function planServices({ services, ...input }: ServicePlanInput): readonly PlannedService[] {
  return services
    .filter(({ Provider }) => isBuiltInProvider(Provider))
    .map((service) => planService(service, input))
}

/** Whether the service is registered here; an external catalog manages its own services. */
export function isBuiltInProvider(provider: string): boolean {
  return provider === '' || provider === SERVICE_PROVIDER || provider === SERVICE_PROVIDER_ALIAS
}

const SERVICE_ID_PREFIX = TASK_ENVIRONMENT_PREFIX.replace(/_$/, '').toLowerCase()

function planService(
  service: AgentService,
  { assignment, task, addressSources, resolveReferences }: Omit<ServicePlanInput, 'services'>,
): PlannedService {
  const { allocation, group } = assignment
  const resolveWithNames = withServiceNames(resolveReferences, assignment, task)
  const ServiceName = resolveWithNames(service.Name, 'Services.Name')
  const PortLabel = resolveWithNames(service.PortLabel, 'Services.PortLabel')
  const addressRequest = {
    mode: service.AddressMode,
    portLabel: PortLabel,
    address: resolveWithNames(service.Address, 'Services.Address'),
  }
  const { address, port } = endpointOf(addressRequest, addressSources)
  const owner = task === '' ? `group-${group.Name}` : task
  const ID = `_${SERVICE_ID_PREFIX}-task-${allocation.ID}-${owner}-${ServiceName}-${PortLabel}`
  const tags = serviceTags(service, assignment).map((tag) => resolveWithNames(tag, 'Services.Tags'))
  const checks = (service.Checks ?? []).map((check, index) => {
    const resolved = resolveCheck(check, resolveWithNames)
    const portLabel = resolved.PortLabel || PortLabel
    const mode = check.AddressMode || service.AddressMode
    const runsInTask = check.Type === 'script'
    return {
      id: createHash('sha256')
        .update(`${ID}\0${index}\0${resolved.Name}`)
        .digest('hex')
        .slice(0, 32),
      name: resolved.Name,
      service: ServiceName,
      group: group.Name,
      task: task || service.TaskName,
      check: resolved,
      at: runsInTask
        ? undefined
        : endpointOf({ ...addressRequest, mode, portLabel }, addressSources),
    }
  })
  return { registration: { ID, ServiceName, Tags: tags, Address: address, Port: port }, checks }
}

/** Tags of the service; a canary uses its own tags until it is promoted. */
function serviceTags(
  { Tags, CanaryTags }: AgentService,
  { allocation }: Assignment,
): readonly string[] {
  const isCanary = allocation.DeploymentStatus?.Canary === true
  return (isCanary && CanaryTags !== null && CanaryTags.length > 0 ? CanaryTags : Tags) ?? []
}

/** Adds four names that only services support. */
function withServiceNames(
  resolve: ResolveReferences,
  { job, group }: Assignment,
  task: string,
): ResolveReferences {
  const namesByReference: Readonly<Record<string, string>> = {
    '${JOB}': job.Name,
    '${TASKGROUP}': group.Name,
    '${TASK}': task,
    '${BASE}': [job.Name, group.Name, task].filter((part) => part !== '').join('-'),
  }
  return (text, field) =>
    resolve(
      text.replaceAll(
        /\$\{(?:JOB|TASKGROUP|TASK|BASE)\}/g,
        (reference) => namesByReference[reference] ?? reference,
      ),
      field,
    )
}

function resolveCheck(check: AgentCheck, resolve: ResolveReferences): AgentCheck {
  const header = Object.entries(check.Header ?? {}).map(
    ([name, values]) =>
      [name, values.map((value) => resolve(value, `Checks.Header.${name}`))] as const,
  )
  return {
    ...check,
    Name: resolve(check.Name, 'Checks.Name'),
    Path: resolve(check.Path, 'Checks.Path'),
    PortLabel: resolve(check.PortLabel, 'Checks.PortLabel'),
    Protocol: resolve(check.Protocol, 'Checks.Protocol'),
    Command: resolve(check.Command, 'Checks.Command'),
    Args: (check.Args ?? []).map((arg) => resolve(arg, 'Checks.Args')),
    Method: resolve(check.Method, 'Checks.Method'),
    Body: resolve(check.Body, 'Checks.Body'),
    GRPCService: resolve(check.GRPCService ?? '', 'Checks.GRPCService'),
    Header: Object.fromEntries(header),
  }
}

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
function endpointOf(
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
