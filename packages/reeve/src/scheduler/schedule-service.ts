import type { Deployment } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import type { PublicNode } from '../model/index.ts'
import { desiredUpdates } from './annotations.ts'
import { deploymentFor, Placing } from './place-changes.ts'
import { evaluationIdsOf } from './outcome.ts'
import { Placer } from './placer.ts'
import type { Plan } from './plan.ts'
import { Proposed } from './proposed.ts'
import { REASONS } from './reconcile/reasons.ts'
import { reconcileGroup, type GroupChanges } from './reconcile/reconcile-group.ts'
import { rowsByGroup } from './reconcile/row-order.ts'
import { withStatus } from './reconcile/state-history.ts'
import { UpdateKinds } from './reconcile/update-kind.ts'
import {
  awaitBudget,
  markReturned,
  markUnknown,
  rollOut,
  stopAll,
  stopped,
  updateInPlace,
  PLACEMENTS_PER_STEP,
  type Run,
} from './run.ts'

/** Service and batch jobs: so many of each group, wherever there is room. */
export function* scheduleService(run: Run): Steps<Plan> {
  const { view, job, rows, outcome, budget } = run
  const proposed = new Proposed(view, rows)
  const placer = new Placer({ ...run, proposed })
  const changes = yield* reconcileJob(run, placer)
  const deployment = rollOut(
    run,
    changes.map((change) => change.rollout),
  )
  stopRemovedGroups(run, proposed)
  for (const change of changes) {
    applyChanges(change, { run, proposed, deployment })
    yield
  }
  const placings = changes.map((change) => ({
    change,
    placing: new Placing({
      run,
      placer,
      proposed,
      deployment: deploymentFor(deployment, change.group),
    }),
  }))
  const { placementsMax = Infinity } = run.context
  let tried = 0
  let isPartial = false
  const takeBack = job.AllAtOnce ? outcome.begin() : undefined
  // What replaces something running goes first: it may need the very room that it frees.
  for (const isFirst of [true, false])
    for (const { change, placing } of placings)
      for (const placement of change.place) {
        if ((placement.why === 'destructive') !== isFirst) continue
        if (outcome.placementCount >= placementsMax && !job.AllAtOnce) {
          isPartial = true
          placing.withhold(change.group, placement)
        } else placing.place(change.group, placement)
        if (++tried % PLACEMENTS_PER_STEP === 0) yield
      }
  // All that is missing of the job comes at once or not at all.
  if (takeBack !== undefined && outcome.hasFailed) {
    takeBack()
    for (const { change, placing } of placings) placing.noteUnplaced(change.place)
  }
  if (isPartial) return outcome.pause(job)
  awaitBudget(run)
  return outcome.finish(job, placer, budget.reason)
}

function* reconcileJob(run: Run, placer: Placer): Steps<readonly GroupChanges[]> {
  const { view, job, rows, context, rollout } = run
  const kinds = new UpdateKinds({
    job,
    findJobOf: (row) => view.findJobOf(row),
    canStay: (row, group) => placer.canStay(row, group),
  })
  const byGroup = rowsByGroup(rows)
  const evaluationIds = evaluationIdsOf(run)
  const changes: GroupChanges[] = []
  for (const group of job.TaskGroups)
    changes.push(
      yield* reconcileGroup(group, byGroup.get(group.Name) ?? [], {
        job,
        nowMs: context.nowMs,
        evaluationIds,
        isToCome: (id) => view.isToCome(id),
        rollout,
        kinds,
        findNode: (id) => view.findNode(id),
        findDeployment: (id) => view.findDeployment(id),
        findRepairVersion: (name) => run.repair.forMissing(name),
      }),
    )
  return changes
}

/** Groups that the job had before and no longer has. */
function stopRemovedGroups({ view, job, rows, outcome }: Run, proposed: Proposed): void {
  const groups = new Set(job.TaskGroups.map((group) => group.Name))
  const orphans = rows.filter((row) => !groups.has(row.TaskGroup))
  const findNode = (id: string): PublicNode | undefined => view.findNode(id)
  for (const row of stopAll(orphans, { reason: REASONS.notNeeded, outcome, findNode }))
    proposed.stop(row)
}

interface ApplyContext {
  readonly run: Run
  readonly proposed: Proposed
  readonly deployment: Deployment | undefined
}

/** Everything that needs no room: stops, in-place updates, waiting. */
function applyChanges(changes: GroupChanges, { run, proposed, deployment }: ApplyContext): void {
  const { job, outcome } = run
  const { group } = changes
  for (const { row, ...stop } of changes.stop) {
    proposed.stop(row)
    outcome.stop(row, stopped(stop))
  }
  waitForLost(changes, run)
  for (const row of changes.update) updateInPlace(row, run, { group, deployment })
  outcome.defer(job, changes.later)
  markUnknown(changes.disconnect, group, run)
  outcome.deferStranded(job, changes.strandedLater)
  outcome.deferUnknown(job, changes.unknownLater)
  markReturned(changes.reconnect, run)
  outcome.desire(group.Name, desiredUpdates(changes))
}

/** Agents that are alone may still run what was lost: it is replaced when they have stopped it. */
function waitForLost({ stop, lostDueMs }: GroupChanges, { job, context, outcome }: Run): void {
  if (lostDueMs === undefined) return
  const followUpId = outcome.followUp(job, {
    trigger: 'alloc-failure',
    dueMs: lostDueMs,
    text: 'waits until a disconnected node has stopped its allocations',
  })
  for (const { row, lost } of stop)
    if (lost !== undefined)
      outcome.stop(row, {
        FollowupEvalID: followUpId,
        ...withStatus(row, 'lost', context.nowMs),
      })
}
