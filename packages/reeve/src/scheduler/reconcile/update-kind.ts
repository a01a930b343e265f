import type { Job, NetworkResource, Port, Task, TaskGroup } from '@reeve/contract'
import {
  isClientTerminal,
  isEqual,
  isServerTerminal,
  type AllocationRow,
} from '../../model/index.ts'
import { isOlder } from './row-order.ts'

export type UpdateKind = 'none' | 'in-place' | 'destructive'

export interface UpdateKindOptions {
  readonly job: Job
  /** The version that an allocation runs; undefined when it is no longer kept. */
  readonly findJobOf: (row: AllocationRow) => Job | undefined
  /** Whether the allocation's node would still take the new version of its group. */
  readonly canStay: (row: AllocationRow, group: TaskGroup) => boolean
}

/**
 * What a new version of the job means for its allocations. Versions are compared once, not once
 * for each of the thousands of allocations that run them.
 */
export class UpdateKinds {
  readonly #options: UpdateKindOptions
  readonly #replaces = new Map<string, boolean>()

  constructor(options: UpdateKindOptions) {
    this.#options = options
  }

  of(row: AllocationRow, group: TaskGroup): UpdateKind {
    const { job, canStay } = this.#options
    if (!isOlder(row, job) || isServerTerminal(row)) return 'none'
    // Who cannot be reached is updated when it is back, or stopped.
    if (row.ClientStatus === 'unknown') return 'none'
    if (this.#needsReplacement(row, group)) return 'destructive'
    if (isClientTerminal(row)) return 'none'
    return canStay(row, group) ? 'in-place' : 'destructive'
  }

  #needsReplacement(row: AllocationRow, group: TaskGroup): boolean {
    const { job, findJobOf } = this.#options
    // A version number says nothing across a purge: the old job of that number may be another one.
    if (row.CreateIndex < job.CreateIndex) return true
    const key = `${row.JobVersion} ${group.Name}`
    const known = this.#replaces.get(key)
    if (known !== undefined) return known
    const before = findJobOf(row)
    const replaces = before === undefined || needsReplacement(before, job, group.Name)
    this.#replaces.set(key, replaces)
    return replaces
  }
}

/**
 * Whether a running allocation of one version of a group can become one of another without being
 * replaced. Fields that are not listed here, such as counts, services and constraints, an agent can
 * take over while the tasks run.
 */
export function needsReplacement(before: Job, after: Job, groupName: string): boolean {
  const [old, next] = [groupOf(before, groupName), groupOf(after, groupName)]
  if (old === undefined || next === undefined) return true
  if (!isEqual(groupTraits(old), groupTraits(next))) return true
  const tasks = new Map(old.Tasks.map((task) => [task.Name, task]))
  return next.Tasks.some((task) => {
    const same = tasks.get(task.Name)
    if (same === undefined) return true
    return !isEqual(taskTraits(same, old, before), taskTraits(task, next, after))
  })
}

function groupOf(job: Job, name: string): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === name)
}

function groupTraits(group: TaskGroup) {
  return {
    tasks: group.Tasks.length,
    disk: group.EphemeralDisk,
    networks: group.Networks?.map(networkTraits) ?? null,
    volumes: group.Volumes,
    discovery: group.Discovery,
    connect: (group.Services ?? [])
      .filter((service) => service.Connect !== null)
      .map((service) => [service.Name, service.PortLabel, service.Connect]),
    renderTemplates: group.RestartPolicy.RenderTemplates,
  }
}

function taskTraits(task: Task, group: TaskGroup, job: Job) {
  const { CPU, Cores, MemoryMB, MemoryMaxMB, Devices, NUMA, SecretsMB, Networks } = task.Resources
  return {
    driver: task.Driver,
    user: task.User,
    config: task.Config,
    env: task.Env,
    artifacts: task.Artifacts,
    secretStore: task.SecretStore,
    secrets: task.Secrets,
    templates: task.Templates,
    storagePlugin: task.CSIPluginConfig,
    volumeMounts: task.VolumeMounts,
    // What the task sees: its own keys over those of its group over those of its job.
    meta: { ...job.Meta, ...group.Meta, ...task.Meta },
    resources: { CPU, Cores, MemoryMB, MemoryMaxMB, Devices, NUMA, SecretsMB },
    networks: Networks?.map(networkTraits) ?? null,
    identity: task.Identity,
    identities: task.Identities,
    logsDisabled: task.LogConfig.Disabled,
    renderTemplates: task.RestartPolicy.RenderTemplates,
  }
}

/** A dynamic port's number was chosen by us, so it is no part of what was asked for. */
function networkTraits(network: NetworkResource) {
  const { Mode, MBits, Hostname, DNS, CNI, ReservedPorts, DynamicPorts } = network
  const dynamic = (DynamicPorts ?? []).map((port: Port) => ({ ...port, Value: 0 }))
  return { Mode, MBits, Hostname, DNS, CNI, ReservedPorts, dynamic }
}
