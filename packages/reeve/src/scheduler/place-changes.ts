import type { AllocationDeploymentStatus, Deployment, Job, TaskGroup } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { groupStateOf, type AllocationRow } from '../model/index.ts'
import { Placer, type Placed, type PlaceRequest } from './placer.ts'
import type { Proposed } from './proposed.ts'
import type { Placement } from './reconcile/placement.ts'
import { REASONS } from './reconcile/reasons.ts'
import { groupOf } from './reconcile/repair-versions.ts'
import { penaltyNodes, trackerAfter, trackerAfterFailure } from './reconcile/reschedule.ts'
import { lostSinceMs, withStatus } from './reconcile/state-history.ts'
import { needsReplacement } from './reconcile/update-kind.ts'
import { stopped, type Run } from './run.ts'
import { hasStickyVolume, StickyVolumes } from './sticky-volumes.ts'

const CANARY: AllocationDeploymentStatus = {
  Healthy: null,
  Timestamp: ZERO_TIME,
  Canary: true,
  ModifyIndex: 0,
}

export interface PlacingOptions {
  readonly run: Run
  readonly placer: Placer
  readonly proposed: Proposed
  /** What the new allocations belong to. */
  readonly deployment: Deployment | undefined
}

/** A version of the job, and who places it. */
interface Versioned {
  readonly placer: Placer
  readonly group: TaskGroup
  /** The version, unless it is the job's own. */
  readonly older: Job | undefined
}

/** Finds room for what the reconciler wants placed, and links it with what it replaces. */
export class Placing {
  readonly #options: PlacingOptions
  readonly #olderPlacers = new Map<number, Placer>()
  readonly #older = new Map<string, Versioned>()
  readonly #sticky: StickyVolumes

  constructor(options: PlacingOptions) {
    this.#options = options
    const { rows, view } = options.run
    this.#sticky = new StickyVolumes({ rows, findNode: (id) => view.findNode(id) })
  }

  place(group: TaskGroup, placement: Placement, tryAll = false): void {
    const { why, previous } = placement
    // Each instance with a sticky volume has its own node, which says nothing about the others.
    const triesEach = tryAll || hasStickyVolume(group)
    if (why === 'destructive' && previous !== undefined)
      this.#replace(group, { ...placement, previous }, triesEach)
    else this.#add(group, placement, triesEach)
  }

  /**
   * Like `place`, for a job that runs on every node: what one node lacks says nothing about the
   * next, so each is tried.
   */
  placeOn(group: TaskGroup, placement: Placement): void {
    this.place(group, placement, true)
  }

  /** Those that failed and were to come again have found no place. */
  noteUnplaced(placements: readonly Placement[]): void {
    for (const placement of placements)
      if (isRescheduled(placement)) this.#noteUnplaced(placement.previous)
  }

  /** One atomic pair: the old one ends only if there is room for the new one without it. */
  #replace(
    group: TaskGroup,
    placement: Placement & { readonly previous: AllocationRow },
    tryAll: boolean,
  ): void {
    const { run, placer, proposed } = this.#options
    const { previous } = placement
    if (!run.budget.take()) return run.outcome.withhold(group)
    if (!tryAll && run.outcome.coalesce(group)) return
    proposed.stop(previous)
    const placed = placer.place(this.#requestFor(group, placement))
    if (!placed.ok) {
      proposed.restore(previous)
      this.#fail(group, placed, undefined)
      return
    }
    this.#accept(placed, { ...this.#membership(placement), PreviousAllocation: previous.ID })
    run.outcome.stop(previous, {
      ...stopped({ reason: REASONS.updating }),
      NextAllocation: placed.row.ID,
    })
  }

  #add(group: TaskGroup, placement: Placement, tryAll: boolean): void {
    const { outcome, budget } = this.#options.run
    const { placer, group: asked, older } = this.#versionFor(group, placement)
    if (older === undefined && !budget.take()) return this.withhold(group, placement)
    const failedBefore = !tryAll && outcome.coalesce(group, older)
    const placed = failedBefore ? undefined : placer.place(this.#requestFor(asked, placement))
    if (placed?.ok === true) {
      const membership = older === undefined ? this.#membership(placement) : {}
      this.#accept(placed, { ...membership, ...this.#linkTo(placement, group) })
      if (placement.previous !== undefined)
        this.#markReplaced(placement.why, placement.previous, placed.row)
      return
    }
    if (placed !== undefined) this.#fail(group, placed, older)
    if (isRescheduled(placement)) this.#noteUnplaced(placement.previous)
  }

  #requestFor(group: TaskGroup, placement: Placement): PlaceRequest {
    const request = requestFor(group, placement)
    if (request.only !== undefined) return request
    const only = this.#sticky.nodeFor(group, this.#options.run.job.ID, placement.index)
    return only === undefined ? request : { ...request, only }
  }

  /** Leaves a placement to a later plan, which recognizes a lost allocation by its history. */
  withhold(group: TaskGroup, { why, previous }: Placement): void {
    const { outcome, context } = this.#options.run
    outcome.withhold(group)
    if (why === 'lost' && previous !== undefined && lostSinceMs(previous) === undefined)
      outcome.stop(previous, withStatus(previous, 'lost', context.nowMs))
  }

  #fail(
    group: TaskGroup,
    { metrics }: Extract<Placed, { readonly ok: false }>,
    older: Job | undefined,
  ): void {
    const { outcome } = this.#options.run
    if (!outcome.coalesce(group, older)) outcome.fail(group, metrics, older)
  }

  /** Whoever has to make room for it goes in the same plan. */
  #accept(placed: Extract<Placed, { readonly ok: true }>, fields: Partial<AllocationRow>): void {
    const { row, preempted } = placed
    this.#options.run.outcome.place({ ...row, ...fields }, preempted)
  }

  #membership(placement: Placement): Partial<AllocationRow> {
    const { deployment } = this.#options
    return membershipOf(deployment, placement.canary === true)
  }

  /** While the job's own version is not rolled out, replacements run the one before it. */
  #versionFor(group: TaskGroup, placement: Placement): Versioned {
    const own = { placer: this.#options.placer, group, older: undefined }
    if (placement.downgrade !== true) return own
    const job = this.#options.run.repair.forReplacement(group.Name, placement.previous)
    if (job === undefined) return own
    const key = `${job.Version} ${group.Name}`
    const known = this.#older.get(key)
    if (known !== undefined) return known
    const olderGroup = groupOf(job, group.Name)
    // Where the two do not differ, the job's own version is as good.
    const differs = needsReplacement(job, this.#options.run.job, group.Name)
    const versioned =
      olderGroup !== undefined && differs
        ? { placer: this.#placerOf(job), group: olderGroup, older: job }
        : own
    this.#older.set(key, versioned)
    return versioned
  }

  #placerOf(job: Job): Placer {
    const { run, proposed } = this.#options
    const known = this.#olderPlacers.get(job.Version)
    if (known !== undefined) return known
    const placer = new Placer({ ...run, job, proposed })
    this.#olderPlacers.set(job.Version, placer)
    return placer
  }

  /** How a new allocation names the one before it, and what it remembers of its failures. */
  #linkTo(placement: Placement, group: TaskGroup): Partial<AllocationRow> {
    const { previous } = placement
    if (previous === undefined) return {}
    if (!isRescheduled(placement)) return { PreviousAllocation: previous.ID }
    const { nowMs } = this.#options.run.context
    return {
      PreviousAllocation: previous.ID,
      RescheduleTracker: trackerAfter(previous, group.ReschedulePolicy, nowMs),
    }
  }

  /**
   * Those that moved or were lost are stopped already; a failed one only now that it has a
   * successor; one on a silent node not at all.
   */
  #markReplaced(why: Placement['why'], previous: AllocationRow, row: AllocationRow): void {
    const { outcome } = this.#options.run
    const link = { NextAllocation: row.ID }
    if (why === 'stranded') outcome.note(previous, link)
    else if (why === 'failed')
      outcome.stop(previous, { ...stopped({ reason: REASONS.rescheduled }), ...link })
    else outcome.stop(previous, link)
  }

  #noteUnplaced(row: AllocationRow): void {
    const tracker = trackerAfterFailure(row)
    if (row.RescheduleTracker?.LastReschedule === tracker.LastReschedule) return
    this.#options.run.outcome.note(row, { RescheduleTracker: tracker })
  }
}

/** What ties a new allocation to the deployment under way. */
function membershipOf(
  deployment: Deployment | undefined,
  isCanary: boolean,
): Partial<AllocationRow> {
  if (deployment === undefined) return {}
  return { DeploymentID: deployment.ID, ...(isCanary ? { DeploymentStatus: CANARY } : {}) }
}

/** The deployment, as far as the group takes part in it. */
export function deploymentFor(
  deployment: Deployment | undefined,
  group: TaskGroup,
): Deployment | undefined {
  return groupStateOf(deployment, group.Name) === undefined ? undefined : deployment
}

type Rescheduled = Placement & { readonly previous: AllocationRow }

function isRescheduled(placement: Placement): placement is Rescheduled {
  const { why, previous } = placement
  return previous !== undefined && (why === 'failed' || why === 'stranded')
}

function requestFor(group: TaskGroup, placement: Placement): PlaceRequest {
  const { index, nodeId, previous } = placement
  if (nodeId !== undefined) return { group, index, only: nodeId }
  if (previous === undefined) return { group, index }
  const penalised = isRescheduled(placement) ? { penalised: penaltyNodes(previous) } : {}
  return { group, index, ...penalised, ...preferred(group, previous) }
}

/** Data that stays on its node draws the replacement there. */
function preferred(group: TaskGroup, previous: AllocationRow): { readonly preferred?: string } {
  const { Sticky: sticky, Migrate: migrate } = group.EphemeralDisk
  return sticky || migrate ? { preferred: previous.NodeID } : {}
}
