import type { AllocationDeploymentStatus, Deployment, Job, TaskGroup } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import {
  groupStateOf,
  type AllocationRow,
  allocationName,
  type PublicNode,
} from '../model/index.ts'
import { Placer, type PlaceResult, type PlaceRequest } from './placer.ts'
import type { ProposedState } from './proposed-state.ts'
import type { Placement } from './reconcile/reconcile-result.ts'
import { appendClientStatus, lostSinceMs, STOP_DESCRIPTIONS } from './reconcile/allocation-state.ts'
import { groupOf, isDestructiveUpdate } from './reconcile/job-versions.ts'
import { penaltyNodeIds, nextTracker, trackerWithoutPlacement } from './reconcile/reschedule.ts'
import { stopFields, type EvaluationRun } from './evaluation-run.ts'

const CANARY_STATUS: AllocationDeploymentStatus = {
  Healthy: null,
  Timestamp: ZERO_TIME,
  Canary: true,
  ModifyIndex: 0,
}

interface GroupPlacerOptions {
  readonly run: EvaluationRun
  readonly placer: Placer
  readonly proposed: ProposedState
  /** Deployment of the new allocations. */
  readonly deployment: Deployment | undefined
}

/** A version of the job with its placer. */
interface VersionPlacer {
  readonly placer: Placer
  readonly group: TaskGroup
  /** Undefined for the current version of the job. */
  readonly olderVersion: Job | undefined
}

/** Places the allocations that the reconciler requests, and links them to their predecessors. */
export class GroupPlacer {
  readonly #options: GroupPlacerOptions
  readonly #placersByVersion = new Map<number, Placer>()
  readonly #placersByVersionAndGroup = new Map<string, VersionPlacer>()
  readonly #stickyVolumes: StickyVolumes

  constructor(options: GroupPlacerOptions) {
    this.#options = options
    const { rows, view } = options.run
    this.#stickyVolumes = new StickyVolumes({ rows, findNode: (id) => view.findNode(id) })
  }

  place(group: TaskGroup, placement: Placement, ignoreEarlierFailure = false): void {
    const { cause, previous } = placement
    // Allocations with sticky volumes are bound to different nodes, so one failure does not predict
    // the next.
    const tryEach = ignoreEarlierFailure || hasStickyVolume(group)
    if (cause === 'destructive' && previous !== undefined)
      this.#replace(group, { ...placement, previous }, tryEach)
    else this.#add(group, placement, tryEach)
  }

  /** Like `place`, for system jobs: every node is tried, whatever happened on the others. */
  placeOnNode(group: TaskGroup, placement: Placement): void {
    this.place(group, placement, true)
  }

  /** Records that failed allocations could not be rescheduled. */
  recordFailedReschedule(placements: readonly Placement[]): void {
    for (const placement of placements)
      if (replacesFailedOrDisconnected(placement)) this.#recordFailedReschedule(placement.previous)
  }

  /**
   * Replaces an allocation atomically: the old one is stopped only if the new one fits without it.
   */
  #replace(
    group: TaskGroup,
    placement: Placement & { readonly previous: AllocationRow },
    ignoreEarlierFailure: boolean,
  ): void {
    const { run, placer, proposed } = this.#options
    const { previous } = placement
    if (!run.budget.tryTake()) return run.planBuilder.withhold(group)
    if (!ignoreEarlierFailure && run.planBuilder.coalesceFailure(group)) return
    proposed.stop(previous)
    const result = placer.place(this.#requestFor(group, placement))
    if (!result.ok) {
      proposed.restore(previous)
      this.#fail(group, result, undefined)
      return
    }
    this.#recordPlacement(result, {
      ...this.#deploymentFields(placement),
      PreviousAllocation: previous.ID,
    })
    run.planBuilder.stop(previous, {
      ...stopFields({ reason: STOP_DESCRIPTIONS.updating }),
      NextAllocation: result.row.ID,
    })
  }

  #add(group: TaskGroup, placement: Placement, ignoreEarlierFailure: boolean): void {
    const { planBuilder, budget } = this.#options.run
    const { placer, group: versionGroup, olderVersion } = this.#versionPlacerFor(group, placement)
    if (olderVersion === undefined && !budget.tryTake()) return this.withhold(group, placement)
    const hasFailedBefore =
      !ignoreEarlierFailure && planBuilder.coalesceFailure(group, olderVersion)
    const result = hasFailedBefore
      ? undefined
      : placer.place(this.#requestFor(versionGroup, placement))
    if (result?.ok === true) {
      const deploymentFields = olderVersion === undefined ? this.#deploymentFields(placement) : {}
      this.#recordPlacement(result, {
        ...deploymentFields,
        ...this.#predecessorFields(placement, group),
      })
      if (placement.previous !== undefined)
        this.#linkPredecessor(placement.cause, placement.previous, result.row)
      return
    }
    if (result !== undefined) this.#fail(group, result, olderVersion)
    if (replacesFailedOrDisconnected(placement)) this.#recordFailedReschedule(placement.previous)
  }

  #requestFor(group: TaskGroup, placement: Placement): PlaceRequest {
    const request = requestFor(group, placement)
    if (request.onlyNodeId !== undefined) return request
    const onlyNode = this.#stickyVolumes.nodeFor(group, this.#options.run.job.ID, placement.index)
    return onlyNode === undefined ? request : { ...request, onlyNodeId: onlyNode }
  }

  /**
   * Leaves a placement to a later plan, which recognizes a lost allocation by its state history.
   */
  withhold(group: TaskGroup, { cause, previous }: Placement): void {
    const { planBuilder, context } = this.#options.run
    planBuilder.withhold(group)
    if (cause === 'lost' && previous !== undefined && lostSinceMs(previous) === undefined)
      planBuilder.stop(previous, appendClientStatus(previous, 'lost', context.nowMs))
  }

  #fail(
    group: TaskGroup,
    { metrics }: Extract<PlaceResult, { readonly ok: false }>,
    olderVersion: Job | undefined,
  ): void {
    const { planBuilder } = this.#options.run
    if (!planBuilder.coalesceFailure(group, olderVersion))
      planBuilder.fail(group, metrics, olderVersion)
  }

  /** Records the placement together with its preemptions. */
  #recordPlacement(
    result: Extract<PlaceResult, { readonly ok: true }>,
    fields: Partial<AllocationRow>,
  ): void {
    const { row, preempted } = result
    this.#options.run.planBuilder.place({ ...row, ...fields }, preempted)
  }

  #deploymentFields(placement: Placement): Partial<AllocationRow> {
    const { deployment } = this.#options
    return deploymentFieldsOf(deployment, placement.canary === true)
  }

  /**
   * Returns the placer for the version to run: until the current version is deployed, replacements
   * run the previous one.
   */
  #versionPlacerFor(group: TaskGroup, placement: Placement): VersionPlacer {
    const currentVersion = { placer: this.#options.placer, group, olderVersion: undefined }
    if (placement.downgrade !== true) return currentVersion
    const job = this.#options.run.repairVersions.forReplacement(group.Name, placement.previous)
    if (job === undefined) return currentVersion
    const key = `${job.Version} ${group.Name}`
    const cached = this.#placersByVersionAndGroup.get(key)
    if (cached !== undefined) return cached
    const olderGroup = groupOf(job, group.Name)
    // Without destructive differences, the current version can be used.
    const differs = isDestructiveUpdate(job, this.#options.run.job, group.Name)
    const versioned =
      olderGroup !== undefined && differs
        ? { placer: this.#placerOf(job), group: olderGroup, olderVersion: job }
        : currentVersion
    this.#placersByVersionAndGroup.set(key, versioned)
    return versioned
  }

  #placerOf(job: Job): Placer {
    const { run, proposed } = this.#options
    const cached = this.#placersByVersion.get(job.Version)
    if (cached !== undefined) return cached
    const placer = new Placer({ ...run, job, proposed })
    this.#placersByVersion.set(job.Version, placer)
    return placer
  }

  /** Fields that link a new allocation to its predecessor and its reschedule history. */
  #predecessorFields(placement: Placement, group: TaskGroup): Partial<AllocationRow> {
    const { previous } = placement
    if (previous === undefined) return {}
    if (!replacesFailedOrDisconnected(placement)) return { PreviousAllocation: previous.ID }
    const { nowMs } = this.#options.run.context
    return {
      PreviousAllocation: previous.ID,
      RescheduleTracker: nextTracker(previous, group.ReschedulePolicy, nowMs),
    }
  }

  /**
   * Migrated and lost predecessors are stopped already. A failed one is stopped now that it has a
   * successor; one on a disconnected node is not stopped.
   */
  #linkPredecessor(cause: Placement['cause'], previous: AllocationRow, row: AllocationRow): void {
    const { planBuilder } = this.#options.run
    const link = { NextAllocation: row.ID }
    if (cause === 'stranded') planBuilder.updateAttributes(previous, link)
    else if (cause === 'failed')
      planBuilder.stop(previous, {
        ...stopFields({ reason: STOP_DESCRIPTIONS.rescheduled }),
        ...link,
      })
    else planBuilder.stop(previous, link)
  }

  #recordFailedReschedule(row: AllocationRow): void {
    const tracker = trackerWithoutPlacement(row)
    if (row.RescheduleTracker?.LastReschedule === tracker.LastReschedule) return
    this.#options.run.planBuilder.updateAttributes(row, { RescheduleTracker: tracker })
  }
}

/** Fields that assign a new allocation to the active deployment. */
function deploymentFieldsOf(
  deployment: Deployment | undefined,
  isCanary: boolean,
): Partial<AllocationRow> {
  if (deployment === undefined) return {}
  return { DeploymentID: deployment.ID, ...(isCanary ? { DeploymentStatus: CANARY_STATUS } : {}) }
}

/** The deployment, if the group is part of it. */
export function deploymentFor(
  deployment: Deployment | undefined,
  group: TaskGroup,
): Deployment | undefined {
  return groupStateOf(deployment, group.Name) === undefined ? undefined : deployment
}

type ReplacingPlacement = Placement & { readonly previous: AllocationRow }

function replacesFailedOrDisconnected(placement: Placement): placement is ReplacingPlacement {
  const { cause, previous } = placement
  return previous !== undefined && (cause === 'failed' || cause === 'stranded')
}

function requestFor(group: TaskGroup, placement: Placement): PlaceRequest {
  const { index, nodeId, previous } = placement
  if (nodeId !== undefined) return { group, index, onlyNodeId: nodeId }
  if (previous === undefined) return { group, index }
  const penalty = replacesFailedOrDisconnected(placement)
    ? { penaltyNodeIds: penaltyNodeIds(previous) }
    : {}
  return { group, index, ...penalty, ...preferredNode(group, previous) }
}

/** Prefers the node of the predecessor if its ephemeral disk is sticky or migrated. */
function preferredNode(
  group: TaskGroup,
  previous: AllocationRow,
): { readonly preferredNodeId?: string } {
  const { Sticky: sticky, Migrate: migrate } = group.EphemeralDisk
  return sticky || migrate ? { preferredNodeId: previous.NodeID } : {}
}

interface StickyVolumesOptions {
  /** All allocations with the ID of the job, including terminal ones. */
  readonly rows: readonly AllocationRow[]
  findNode(id: string): PublicNode | undefined
}

/**
 * Finds the nodes of sticky volumes: a host volume with `sticky` binds each allocation name to the
 * node of its first placement, until that node is removed from the cluster.
 */
class StickyVolumes {
  readonly #options: StickyVolumesOptions
  /** Newest allocation by name; built on first use. */
  #latestByName: ReadonlyMap<string, AllocationRow> | undefined

  constructor(options: StickyVolumesOptions) {
    this.#options = options
  }

  /** The only allowed node for a name index; undefined: any. */
  nodeFor(group: TaskGroup, jobId: string, index: number): string | undefined {
    if (!hasStickyVolume(group)) return undefined
    this.#latestByName ??= latestByName(this.#options.rows)
    const row = this.#latestByName.get(allocationName(jobId, group.Name, index))
    return row === undefined || this.#options.findNode(row.NodeID) === undefined
      ? undefined
      : row.NodeID
  }
}

function hasStickyVolume({ Volumes: volumes }: TaskGroup): boolean {
  return Object.values(volumes ?? {}).some(({ Sticky, Type }) => Sticky && Type === 'host')
}

function latestByName(rows: readonly AllocationRow[]): ReadonlyMap<string, AllocationRow> {
  const latest = new Map<string, AllocationRow>()
  for (const row of rows) {
    const latestRow = latest.get(row.Name)
    if (latestRow === undefined || latestRow.CreateIndex <= row.CreateIndex)
      latest.set(row.Name, row)
  }
  return latest
}
