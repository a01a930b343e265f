import type { Job, NetworkResource, Port, Task, TaskGroup } from '@reeve/contract'
import {
  isClientTerminal,
  isEqual,
  isServerTerminal,
  type AllocationRow,
} from '../../model/index.ts'
import { isFromOlderVersion } from './row-order.ts'

export type UpdateType = 'none' | 'in-place' | 'destructive'

export interface UpdateClassifierOptions {
  readonly job: Job
  /** Version that an allocation runs; undefined if it is no longer stored. */
  readonly jobVersionOf: (row: AllocationRow) => Job | undefined
  /** True if the new version of the group fits on the node of the allocation. */
  readonly fitsInPlace: (row: AllocationRow, group: TaskGroup) => boolean
}

/**
 * Classifies the update of allocations to a new version. Versions are compared once and cached, not
 * once per allocation.
 */
export class UpdateClassifier {
  readonly #options: UpdateClassifierOptions
  readonly #isDestructiveByVersion = new Map<string, boolean>()

  constructor(options: UpdateClassifierOptions) {
    this.#options = options
  }

  classify(row: AllocationRow, group: TaskGroup): UpdateType {
    const { job, fitsInPlace } = this.#options
    if (!isFromOlderVersion(row, job) || isServerTerminal(row)) return 'none'
    // Unreachable allocations are updated after they reconnect, or stopped.
    if (row.ClientStatus === 'unknown') return 'none'
    if (this.#isDestructive(row, group)) return 'destructive'
    if (isClientTerminal(row)) return 'none'
    return fitsInPlace(row, group) ? 'in-place' : 'destructive'
  }

  #isDestructive(row: AllocationRow, group: TaskGroup): boolean {
    const { job, jobVersionOf } = this.#options
    // Version numbers are not comparable across a purge of the job.
    if (row.CreateIndex < job.CreateIndex) return true
    const key = `${row.JobVersion} ${group.Name}`
    const cached = this.#isDestructiveByVersion.get(key)
    if (cached !== undefined) return cached
    const before = jobVersionOf(row)
    const isDestructive = before === undefined || isDestructiveUpdate(before, job, group.Name)
    this.#isDestructiveByVersion.set(key, isDestructive)
    return isDestructive
  }
}

/**
 * True if the update of a group needs new allocations. Fields that are not compared here, such as
 * counts, services and constraints, can be updated on a running allocation.
 */
export function isDestructiveUpdate(before: Job, after: Job, groupName: string): boolean {
  const [old, next] = [groupNamed(before, groupName), groupNamed(after, groupName)]
  if (old === undefined || next === undefined) return true
  if (!isEqual(destructiveGroupFields(old), destructiveGroupFields(next))) return true
  const tasks = new Map(old.Tasks.map((task) => [task.Name, task]))
  return next.Tasks.some((task) => {
    const oldTask = tasks.get(task.Name)
    if (oldTask === undefined) return true
    return !isEqual(
      destructiveTaskFields(oldTask, old, before),
      destructiveTaskFields(task, next, after),
    )
  })
}

function groupNamed(job: Job, name: string): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === name)
}

function destructiveGroupFields(group: TaskGroup) {
  return {
    tasks: group.Tasks.length,
    disk: group.EphemeralDisk,
    networks: group.Networks?.map(destructiveNetworkFields) ?? null,
    volumes: group.Volumes,
    discovery: group.Discovery,
    connect: (group.Services ?? [])
      .filter((service) => service.Connect !== null)
      .map((service) => [service.Name, service.PortLabel, service.Connect]),
    renderTemplates: group.RestartPolicy.RenderTemplates,
  }
}

function destructiveTaskFields(task: Task, group: TaskGroup, job: Job) {
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
    // Metadata visible to the task: task keys override group keys, which override job keys.
    meta: { ...job.Meta, ...group.Meta, ...task.Meta },
    resources: { CPU, Cores, MemoryMB, MemoryMaxMB, Devices, NUMA, SecretsMB },
    networks: Networks?.map(destructiveNetworkFields) ?? null,
    identity: task.Identity,
    identities: task.Identities,
    logsDisabled: task.LogConfig.Disabled,
    renderTemplates: task.RestartPolicy.RenderTemplates,
  }
}

/** Dynamic port numbers are assigned by the scheduler, so they are not compared. */
function destructiveNetworkFields(network: NetworkResource) {
  const { Mode, MBits, Hostname, DNS, CNI, ReservedPorts, DynamicPorts } = network
  const dynamic = (DynamicPorts ?? []).map((port: Port) => ({ ...port, Value: 0 }))
  return { Mode, MBits, Hostname, DNS, CNI, ReservedPorts, dynamic }
}
