import { createHash } from 'node:crypto'
import {
  SERVICE_PROVIDER,
  SERVICE_PROVIDER_ALIAS,
  TASK_ENVIRONMENT_PREFIX,
  type ReportedService,
} from '@reeve/contract'
import type { AgentCheck, AgentService, Assignment } from '../assignment.ts'
import { endpointOf, type Endpoint, type AddressSources } from './service-address.ts'

/** Resolves references in a string; `field` names it in errors. */
export type ResolveReferences = (text: string, field: string) => string

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
