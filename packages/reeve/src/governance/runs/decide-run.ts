import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunDecision, RunRow } from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { autoDestroyAfterApply } from '../projects/auto-destroy.ts'
import { triggeredRunChanges } from '../run-triggers/triggered-runs.ts'
import { findRun, type VisibleRun } from './find-run.ts'
import { cancelUnfinishedChanges } from './ended-rows.ts'
import { interruptChanges } from './execution/cancel-run.ts'
import { saveRunChanges } from './execution/run-rows.ts'
import { isCancelable, isConfirmable, isDiscardable, transitionRun } from './run-states.ts'

export interface RunActionRequest {
  readonly runId: string
  readonly action: RunDecision['action']
  readonly comment: string | null
}

/** Resulting status of each decision, and the statuses in which it is allowed (otherwise 409). */
const RUN_ACTIONS = {
  apply: { to: 'confirmed', isPossible: isConfirmable, when: 'waits for confirmation' },
  discard: { to: 'discarded', isPossible: isDiscardable, when: 'waits for a decision' },
  cancel: { to: 'canceled', isPossible: isCancelable, when: 'has not ended' },
} as const satisfies Record<
  RunDecision['action'],
  { to: v2.RunStatus; isPossible: (status: v2.RunStatus) => boolean; when: string }
>

export async function performRunAction(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action, comment }: RunActionRequest,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const found = findRunForAction(context, caller, { runId, action })
  if (!found.ok) return found
  const { run: before } = found.value
  const { to, isPossible, when } = RUN_ACTIONS[action]
  if (!isPossible(before.status)) {
    const detail = `The run is ${before.status}; to ${action} it is possible while it ${when}`
    return err({ code: 'conflict', detail })
  }
  const nowMs = context.clock.nowMs()
  const byName = callerName(context, caller)
  const decision: RunDecision = { action, byId: caller.userId, byName, atMs: nowMs, comment }
  const interruption =
    action === 'cancel' ? interruptChanges(context.store.tables, before, decision) : undefined
  if (interruption !== undefined) {
    if (!interruption.ok) return interruption
    const { run, changes } = interruption.value
    await commitDecision(context, caller, { run, changes })
    return ok({ ...found.value, run })
  }
  const run = { ...transitionRun(before, [to], nowMs), decision }
  const { tables } = context.store
  await commitDecision(context, caller, {
    run,
    changes: [
      ...(action === 'apply' ? [] : cancelUnfinishedChanges(tables, run, nowMs)),
      ...saveRunChanges(tables, run, nowMs),
    ],
  })
  return ok({ ...found.value, run })
}

async function commitDecision(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { run, changes }: { readonly run: RunRow; readonly changes: readonly Change[] },
): Promise<void> {
  await commitWrite(context, {
    action: 'RunDecided',
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id],
    changes,
  })
}

/** Returns the run if the caller may decide about it; its creator may also cancel it. */
export function findRunForAction(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action }: Pick<RunActionRequest, 'runId' | 'action'>,
): Result<VisibleRun, GovernanceRefusal> {
  const found = findRun(context, caller, { runId, right: 'read' })
  if (!found.ok) return found
  const { rights, run } = found.value
  const isOwnCancel = action === 'cancel' && run.createdById === caller.userId && rights.queuePlan
  return rights.queueApply || isOwnCancel
    ? found
    : findRun(context, caller, { runId, right: 'queueApply' })
}

/** Records the result that an external executor reports for the apply of a confirmed run. */
export async function reportApplyResult(
  context: GovernanceContext,
  caller: GovernanceCaller,
  report: { readonly runId: string; readonly status: 'applied' | 'errored' },
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const found = findRun(context, caller, { runId: report.runId, right: 'queueApply' })
  if (!found.ok) return found
  const { run: before, workspace } = found.value
  if (before.execution !== undefined)
    return err({
      code: 'conflict',
      detail: 'The run uses remote execution; its result cannot be reported by a client',
    })
  if (before.status !== 'confirmed')
    return err({ code: 'conflict', detail: `The run is ${before.status}, not confirmed` })
  const nowMs = context.clock.nowMs()
  const run = transitionRun(before, [report.status], nowMs)
  const updatedWorkspace = autoDestroyAfterApply(
    workspace,
    { ...report, isDestroy: run.isDestroy },
    nowMs,
  )
  await commitWrite(context, {
    action: 'RunReported',
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id],
    changes: [
      put('runs', run),
      ...(updatedWorkspace === workspace ? [] : [put('workspaces', updatedWorkspace)]),
      ...(report.status === 'applied' ? triggeredRunChanges(context, run) : []),
    ],
  })
  return ok({ ...found.value, run })
}
