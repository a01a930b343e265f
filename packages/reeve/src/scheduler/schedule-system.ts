import type { Deployment, TaskGroup, Trigger } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import type { PublicNode } from '../model/index.ts'
import { desiredUpdates } from './annotations.ts'
import { isInBaseSet } from './feasible/base-set.ts'
import { deploymentFor, Placing } from './place-changes.ts'
import { Placer } from './placer.ts'
import type { Plan } from './plan.ts'
import { Proposed } from './proposed.ts'
import { REASONS } from './reconcile/reasons.ts'
import { reconcileNodes } from './reconcile/reconcile-nodes.ts'
import type { GroupChanges } from './reconcile/reconcile-group.ts'
import { rowsByGroup } from './reconcile/row-order.ts'
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

/** System and sysbatch jobs: each group on every node that can run it. */
export function* scheduleSystem(run: Run): Steps<Plan> {
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
  const { placementsMax = Infinity } = run.context
  let tried = 0
  let isPartial = false
  for (const change of changes) {
    const { group } = change
    const placing = new Placing({
      run,
      placer,
      proposed,
      deployment: deploymentFor(deployment, group),
    })
    for (const placement of change.place) {
      if (outcome.placementCount >= placementsMax) {
        isPartial = true
        placing.withhold(group, placement)
      } else placing.placeOn(group, placement)
      if (++tried % PLACEMENTS_PER_STEP === 0) yield
    }
    if (isNowhere(change, placer)) reportNowhere(group, run, placer)
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
  const changes: GroupChanges[] = []
  for (const group of job.TaskGroups) {
    changes.push(
      reconcileNodes(group, byGroup.get(group.Name) ?? [], {
        job,
        nowMs: context.nowMs,
        rollout,
        kinds,
        revives: revives(run),
        nodes: placer.base.nodes,
        findNode: (id) => view.findNode(id),
        isInBase: (node) => isInBaseSet(node, job),
        isFeasible: (node, one) => placer.isFeasible(node, one),
        findRepairVersion: (name) => run.repair.forMissing(name),
      }),
    )
    yield
  }
  return changes
}

/**
 * What may follow from the very end of an allocation: it left room, or its deployment heard of it.
 * Placed again for that, a job that always fails would go round without a pause.
 */
const ECHOES: readonly Trigger[] = ['queued-allocs', 'deployment-watcher']

function revives({ evaluation, context }: Run): boolean {
  const causes = [evaluation, ...(context.settles ?? [])]
  return causes.some(({ TriggeredBy }) => !ECHOES.includes(TriggeredBy))
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

function applyChanges(changes: GroupChanges, { run, proposed, deployment }: ApplyContext): void {
  const { group } = changes
  for (const { row, ...stop } of changes.stop) {
    proposed.stop(row)
    run.outcome.stop(row, stopped(stop))
  }
  for (const row of changes.update) updateInPlace(row, run, { group, deployment })
  markUnknown(changes.disconnect, group, run)
  markReturned(changes.reconnect, run)
  run.outcome.desire(group.Name, desiredUpdates(changes))
}

/** Nodes that cannot run it are passed over in silence, unless that is all of them. */
function isNowhere({ group, place, ignored, update }: GroupChanges, placer: Placer): boolean {
  if (group.Count === 0 || place.length + ignored + update.length > 0) return false
  return !placer.base.nodes.some((node) => placer.isFeasible(node, group))
}

function reportNowhere(group: TaskGroup, { outcome }: Run, placer: Placer): void {
  const overview = placer.place({ group, index: 0 })
  if (!overview.ok) outcome.fail(group, overview.metrics)
}
