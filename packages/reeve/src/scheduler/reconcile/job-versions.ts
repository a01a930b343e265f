import type { Deployment, Job, NetworkResource, Port, Task, TaskGroup } from '@reeve/contract'
import {
  groupStateOf,
  type AllocationRow,
  isClientTerminal,
  isEqual,
  isServerTerminal,
  isAwaitingPromotion,
} from '../../model/index.ts'
import { isFromOlderVersion } from './allocation-state.ts'
import type { DeploymentState } from './deployment-state.ts'

interface RepairVersionsOptions {
  readonly job: Job
  readonly rollout: DeploymentState
  /** All allocations with the ID of the job. */
  readonly rows: readonly AllocationRow[]
  /** Stored versions of the job, oldest first. */
  readonly findVersions: () => readonly Job[]
  readonly findDeployments: () => readonly Deployment[]
  /** Version that an allocation runs; undefined if it is no longer stored. */
  readonly jobVersionOf: (row: AllocationRow) => Job | undefined
}

/**
 * Chooses the version of replacements while the current version is not deployed: its deployment
 * failed, is paused, or awaits promotion. The end or pause of a deployment affects the rollout of a
 * version, never the replacement of allocations.
 */
export class RepairVersions {
  readonly #context: RepairVersionsOptions
  readonly #deployedVersions = new Map<string, Job | undefined>()

  constructor(context: RepairVersionsOptions) {
    this.#context = context
  }

  /** Version of a replacement; undefined: the current one. */
  forReplacement(groupName: string, previous: AllocationRow | undefined): Job | undefined {
    const { job } = this.#context
    if (previous === undefined) return this.forMissing(groupName)
    const runsCurrentVersion =
      previous.JobVersion === job.Version && previous.CreateIndex >= job.CreateIndex
    // The predecessor was healthy with the current version.
    if (runsCurrentVersion && previous.DeploymentStatus?.Healthy === true) return undefined
    return (
      this.#findDeployedVersion(groupName) ??
      (runsCurrentVersion ? undefined : this.#versionOf(previous))
    )
  }

  /**
   * Version of an allocation without a predecessor. If no other version was ever deployed, a failed
   * version that was deployed without canaries is used; one with unpromoted canaries, or a paused
   * one, is not.
   */
  forMissing(groupName: string): Job | undefined {
    const { current, isFailed } = this.#context.rollout
    const deployedVersion = this.#findDeployedVersion(groupName)
    if (deployedVersion !== undefined) return deployedVersion
    const wasDeployedWithoutCanaries =
      isFailed && !isAwaitingPromotion(groupStateOf(current, groupName))
    return wasDeployedWithoutCanaries ? undefined : this.#newestOlderVersion(groupName)
  }

  #findDeployedVersion(groupName: string): Job | undefined {
    if (this.#deployedVersions.has(groupName)) return this.#deployedVersions.get(groupName)
    const { job, rollout, findVersions, findDeployments } = this.#context
    const found = lastDeployedVersion(job, groupName, {
      versions: findVersions(),
      deployments: findDeployments(),
      needsStable: rollout.isFailed,
    })
    this.#deployedVersions.set(groupName, found)
    return found
  }

  #newestOlderVersion(groupName: string): Job | undefined {
    const { rows } = this.#context
    let newest: AllocationRow | undefined
    for (const row of rows)
      if (row.TaskGroup === groupName && this.#isOlderVersion(row))
        if (newest === undefined || row.JobVersion > newest.JobVersion) newest = row
    const found = newest === undefined ? undefined : this.#versionOf(newest)
    return found !== undefined && groupOf(found, groupName) !== undefined ? found : undefined
  }

  #versionOf(row: AllocationRow): Job | undefined {
    return this.#isOlderVersion(row) ? this.#context.jobVersionOf(row) : undefined
  }

  /** Version numbers are not comparable across a purge of the job. */
  #isOlderVersion(row: AllocationRow): boolean {
    const { job } = this.#context
    return row.CreateIndex >= job.CreateIndex && row.JobVersion < job.Version
  }
}

interface KeptVersions {
  /** Oldest first. */
  readonly versions: readonly Job[]
  readonly deployments: readonly Deployment[]
  /**
   * Whether only a stable version is acceptable. After a failure, a version that was deployed but
   * never became stable is no better; its deployment record may also be collected.
   */
  readonly needsStable: boolean
}

/**
 * Returns the newest earlier version that was deployed: stable, promoted, or deployed without
 * canaries. Undefined if none is stored.
 */
function lastDeployedVersion(
  job: Job,
  groupName: string,
  { versions, deployments, needsStable }: KeptVersions,
): Job | undefined {
  const byVersion = new Map(
    deployments
      .filter((one) => one.JobCreateIndex === job.CreateIndex)
      .map((one) => [one.JobVersion, one]),
  )
  const candidates = versions.filter(
    (version) =>
      version.CreateIndex === job.CreateIndex &&
      version.Version < job.Version &&
      !version.Stop &&
      groupOf(version, groupName) !== undefined,
  )
  const stable = candidates.findLast((version) => version.Stable)
  if (needsStable) return stable
  return candidates.findLast(
    (version) => version === stable || wasDeployed(byVersion.get(version.Version), groupName),
  )
}

function wasDeployed(deployment: Deployment | undefined, groupName: string): boolean {
  const state = groupStateOf(deployment, groupName)
  if (state === undefined || deployment?.Status === 'failed') return false
  return state.Promoted || state.DesiredCanaries === 0
}

export function groupOf(job: Job, groupName: string): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === groupName)
}

type UpdateType = 'none' | 'in-place' | 'destructive'

interface UpdateClassifierOptions {
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
