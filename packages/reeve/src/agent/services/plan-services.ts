import { createHash } from 'node:crypto'
import {
  SERVICE_PROVIDER,
  SERVICE_PROVIDER_ALIAS,
  TASK_ENVIRONMENT_PREFIX,
  type OfferedService,
} from '@reeve/contract'
import type { AgentCheck, AgentService, Assignment } from '../assignment.ts'
import { endpointOf, type Endpoint, type Surroundings } from './service-address.ts'

/** Resolves `${…}` in one text; `field` names it where it becomes too long. */
export type Resolve = (text: string, field: string) => string

/** A check of one service with everything resolved. */
export interface PlannedCheck {
  /** The same for the same check of the same allocation: results are found by it. */
  readonly id: string
  readonly name: string
  readonly service: string
  readonly group: string
  /** Empty for a service of the group. */
  readonly task: string
  readonly check: AgentCheck
  /** Where it asks; undefined for one that runs inside the task. */
  readonly at: Endpoint | undefined
}

export interface PlannedService {
  readonly offered: OfferedService
  readonly checks: readonly PlannedCheck[]
}

interface PlanInput {
  readonly assignment: Assignment
  readonly services: readonly AgentService[]
  /** The task they belong to; empty for the group. */
  readonly task: string
  readonly around: Surroundings
  readonly resolve: Resolve
}

/** What a group or a task offers, as it is registered. */
export function planServices({ services, ...input }: PlanInput): readonly PlannedService[] {
  return services
    .filter(({ Provider }) => isBuiltIn(Provider))
    .map((service) => planService(service, input))
}

/** Services of an external catalogue are that one's concern. */
export function isBuiltIn(provider: string): boolean {
  return provider === '' || provider === SERVICE_PROVIDER || provider === SERVICE_PROVIDER_ALIAS
}

const PRODUCT = TASK_ENVIRONMENT_PREFIX.replace(/_$/, '').toLowerCase()

function planService(
  service: AgentService,
  { assignment, task, around, resolve }: Omit<PlanInput, 'services'>,
): PlannedService {
  const { allocation, group } = assignment
  const own = withNames(resolve, assignment, task)
  const ServiceName = own(service.Name, 'Services.Name')
  const PortLabel = own(service.PortLabel, 'Services.PortLabel')
  const wanted = {
    mode: service.AddressMode,
    portLabel: PortLabel,
    address: own(service.Address, 'Services.Address'),
  }
  const { address, port } = endpointOf(wanted, around)
  const owner = task === '' ? `group-${group.Name}` : task
  const ID = `_${PRODUCT}-task-${allocation.ID}-${owner}-${ServiceName}-${PortLabel}`
  const tags = tagsOf(service, assignment).map((tag) => own(tag, 'Services.Tags'))
  const checks = (service.Checks ?? []).map((check, i) => {
    const resolved = resolveCheck(check, own)
    const portLabel = resolved.PortLabel || PortLabel
    const mode = check.AddressMode || service.AddressMode
    const isInside = check.Type === 'script'
    return {
      id: createHash('sha256').update(`${ID}\0${i}\0${resolved.Name}`).digest('hex').slice(0, 32),
      name: resolved.Name,
      service: ServiceName,
      group: group.Name,
      task: task || service.TaskName,
      check: resolved,
      at: isInside ? undefined : endpointOf({ ...wanted, mode, portLabel }, around),
    }
  })
  return { offered: { ID, ServiceName, Tags: tags, Address: address, Port: port }, checks }
}

/** A canary has tags of its own until it is promoted. */
function tagsOf({ Tags, CanaryTags }: AgentService, { allocation }: Assignment): readonly string[] {
  const isCanary = allocation.DeploymentStatus?.Canary === true
  return (isCanary && CanaryTags !== null && CanaryTags.length > 0 ? CanaryTags : Tags) ?? []
}

/** Names of services know four words more. */
function withNames(resolve: Resolve, { job, group }: Assignment, task: string): Resolve {
  const words: Readonly<Record<string, string>> = {
    '${JOB}': job.Name,
    '${TASKGROUP}': group.Name,
    '${TASK}': task,
    '${BASE}': [job.Name, group.Name, task].filter((part) => part !== '').join('-'),
  }
  return (text, field) =>
    resolve(
      text.replaceAll(/\$\{(?:JOB|TASKGROUP|TASK|BASE)\}/g, (word) => words[word] ?? word),
      field,
    )
}

function resolveCheck(check: AgentCheck, own: Resolve): AgentCheck {
  const header = Object.entries(check.Header ?? {}).map(
    ([name, values]) => [name, values.map((value) => own(value, `Checks.Header.${name}`))] as const,
  )
  return {
    ...check,
    Name: own(check.Name, 'Checks.Name'),
    Path: own(check.Path, 'Checks.Path'),
    PortLabel: own(check.PortLabel, 'Checks.PortLabel'),
    Protocol: own(check.Protocol, 'Checks.Protocol'),
    Command: own(check.Command, 'Checks.Command'),
    Args: (check.Args ?? []).map((arg) => own(arg, 'Checks.Args')),
    Method: own(check.Method, 'Checks.Method'),
    Body: own(check.Body, 'Checks.Body'),
    GRPCService: own(check.GRPCService ?? '', 'Checks.GRPCService'),
    Header: Object.fromEntries(header),
  }
}
