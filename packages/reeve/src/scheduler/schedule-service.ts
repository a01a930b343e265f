import type { DesiredUpdates, TaskGroup } from '@reeve/contract'
import type { AllocationRow, PublicNode } from '../model/index.ts'
import { NO_UPDATES } from './outcome.ts'
import { Placer, type PlaceRequest } from './placer.ts'
import type { Plan } from './plan.ts'
import { Proposed } from './proposed.ts'
import { taskLifecycles } from './rank/assign.ts'
import { classify } from './reconcile/classify.ts'
import { REASONS } from './reconcile/reasons.ts'
import { reconcileGroup, type GroupChanges, type Placement } from './reconcile/reconcile-group.ts'
import { penaltyNodes, trackerAfter, trackerAfterFailure } from './reconcile/reschedule.ts'
import { stopAll, stopped, type Run } from './run.ts'

/** Service and batch jobs: so many of each group, wherever there is room. */
export function scheduleService(run: Run): Plan {
  const { view, job, rows, outcome } = run
  const proposed = new Proposed(view, rows)
  const placer = new Placer({ ...run, proposed })
  const changes = job.TaskGroups.map((group) => changesOf(group, run, placer))
  stopRemovedGroups(run, proposed)
  for (const change of changes) applyChanges(change, run, proposed)
  const placing = { run, placer, proposed }
  // What replaces something running goes first: it may need the very room that it frees.
  for (const { group, place } of changes)
    for (const placement of place.filter(isDestructive)) replace(group, placement, placing)
  for (const { group, place } of changes)
    for (const placement of place.filter((one) => !isDestructive(one)))
      add(group, placement, placing)
  return outcome.finish(job, placer)
}

function changesOf(group: TaskGroup, run: Run, placer: Placer): GroupChanges {
  const { view, job, rows, context, evaluation } = run
  const classified = classify(
    rows.filter((row) => row.TaskGroup === group.Name),
    {
      job,
      policy: group.ReschedulePolicy,
      findNode: (id) => view.findNode(id),
      nowMs: context.nowMs,
      evaluationId: evaluation.ID,
    },
  )
  return reconcileGroup(group, classified, {
    job,
    findJobOf: (row) => view.findJobOf(row),
    canStay: (row, next) => placer.canStay(row, next),
  })
}

/** Groups that the job had before and no longer has. */
function stopRemovedGroups({ view, job, rows, outcome }: Run, proposed: Proposed): void {
  const groups = new Set(job.TaskGroups.map((group) => group.Name))
  const orphans = rows.filter((row) => !groups.has(row.TaskGroup))
  const findNode = (id: string): PublicNode | undefined => view.findNode(id)
  for (const row of stopAll(orphans, { reason: REASONS.notNeeded, outcome, findNode }))
    proposed.stop(row)
}

/** Everything that needs no room: stops, in-place updates, waiting. */
function applyChanges(changes: GroupChanges, run: Run, proposed: Proposed): void {
  const { job, evaluation, outcome } = run
  const { group } = changes
  for (const { row, reason, lost } of changes.stop) {
    proposed.stop(row)
    outcome.stop(row, stopped(reason, lost))
  }
  for (const row of changes.update)
    outcome.update(row, {
      JobVersion: job.Version,
      EvalID: evaluation.ID,
      AllocatedResources: { ...row.AllocatedResources, TaskLifecycles: taskLifecycles(group) },
    })
  outcome.defer(job, changes.later)
  outcome.desire(group.Name, desiredUpdates(changes))
}

function desiredUpdates({ place, stop, update, later, ignored }: GroupChanges): DesiredUpdates {
  const count = (...whys: readonly Placement['why'][]): number =>
    place.filter((placement) => whys.includes(placement.why)).length
  const migrating = stop.filter((entry) => entry.reason === REASONS.migrating).length
  return {
    ...NO_UPDATES,
    Ignore: ignored,
    Place: count('missing', 'lost', 'failed'),
    Migrate: migrating,
    Stop: stop.length - migrating,
    InPlaceUpdate: update.length,
    DestructiveUpdate: count('destructive'),
    RescheduleNow: count('failed'),
    RescheduleLater: later.length,
  }
}

type Replacing = Exclude<Placement, { readonly why: 'missing' }>

interface Placing {
  readonly run: Run
  readonly placer: Placer
  readonly proposed: Proposed
}

function isDestructive(placement: Placement): placement is Replacing {
  return placement.why === 'destructive'
}

/** One atomic pair: the old one ends only if there is room for the new one without it. */
function replace(group: TaskGroup, { index, previous }: Replacing, placing: Placing): void {
  const { run, placer, proposed } = placing
  if (run.outcome.coalesce(group)) return
  proposed.stop(previous)
  const placed = placer.place({ group, index, ...preferred(group, previous) })
  if (!placed.ok) {
    proposed.restore(previous)
    run.outcome.fail(group, placed.metrics)
    return
  }
  run.outcome.place({ ...placed.row, PreviousAllocation: previous.ID })
  run.outcome.stop(previous, {
    ...stopped(REASONS.updating),
    NextAllocation: placed.row.ID,
  })
}

function add(group: TaskGroup, placement: Placement, placing: Placing): void {
  const { run, placer } = placing
  const { outcome } = run
  const failedBefore = outcome.coalesce(group)
  const placed = failedBefore ? undefined : placer.place(requestFor(group, placement))
  if (placed?.ok === true) {
    outcome.place({ ...placed.row, ...linkTo(placement, group, run) })
    if (placement.why !== 'missing') markReplaced(placement, placed.row, run)
    return
  }
  if (placed !== undefined) outcome.fail(group, placed.metrics)
  if (placement.why === 'failed') noteUnplaced(placement.previous, run)
}

function requestFor(group: TaskGroup, placement: Placement): PlaceRequest {
  const { index } = placement
  if (placement.why === 'missing') return { group, index }
  const { previous } = placement
  if (placement.why !== 'failed') return { group, index, ...preferred(group, previous) }
  return { group, index, penalised: penaltyNodes(previous), ...preferred(group, previous) }
}

/** Scheduling reference §9.1: data that stays on its node draws the replacement there. */
function preferred(group: TaskGroup, previous: AllocationRow): { readonly preferred?: string } {
  const { Sticky: sticky, Migrate: migrate } = group.EphemeralDisk
  return sticky || migrate ? { preferred: previous.NodeID } : {}
}

/** How a new allocation names the one before it, and what it remembers of its failures. */
function linkTo(placement: Placement, group: TaskGroup, run: Run): Partial<AllocationRow> {
  if (placement.why === 'missing') return {}
  const { previous } = placement
  if (placement.why !== 'failed') return { PreviousAllocation: previous.ID }
  return {
    PreviousAllocation: previous.ID,
    RescheduleTracker: trackerAfter(previous, group.ReschedulePolicy, run.context.nowMs),
  }
}

/**
 * Those that moved or were lost are stopped already; a failed one only now that it has a successor.
 */
function markReplaced({ why, previous }: Replacing, row: AllocationRow, { outcome }: Run): void {
  const link = { NextAllocation: row.ID }
  outcome.stop(previous, why === 'failed' ? { ...stopped(REASONS.rescheduled), ...link } : link)
}

function noteUnplaced(row: AllocationRow, { outcome }: Run): void {
  const tracker = trackerAfterFailure(row)
  if (row.RescheduleTracker?.LastReschedule === tracker.LastReschedule) return
  outcome.note(row, { RescheduleTracker: tracker })
}
