import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunDecision, RunRow } from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { afterApply } from '../projects/auto-destroy.ts'
import { triggeredRows } from '../run-triggers/triggered-runs.ts'
import { findRun, type SeenRun } from './find-run.ts'
import { endedRows } from './ended-rows.ts'
import { interruptedRows } from './execution/cancel-run.ts'
import { runRows } from './execution/run-rows.ts'
import { isCancelable, isConfirmable, isDiscardable, movedRun } from './run-states.ts'

export interface Decision {
  readonly runId: string
  readonly action: RunDecision['action']
  readonly comment: string | null
}

/** Resulting status of each decision, and the statuses in which it is allowed (otherwise 409). */
const DECISIONS = {
  apply: { to: 'confirmed', isPossible: isConfirmable, when: 'waits for confirmation' },
  discard: { to: 'discarded', isPossible: isDiscardable, when: 'waits for a decision' },
  cancel: { to: 'canceled', isPossible: isCancelable, when: 'has not ended' },
} as const satisfies Record<
  RunDecision['action'],
  { to: v2.RunStatus; isPossible: (status: v2.RunStatus) => boolean; when: string }
>

export async function decideRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action, comment }: Decision,
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const seen = findDecidable(context, caller, { runId, action })
  if (!seen.ok) return seen
  const { run: before } = seen.value
  const { to, isPossible, when } = DECISIONS[action]
  if (!isPossible(before.status)) {
    const detail = `The run is ${before.status}; to ${action} it is possible while it ${when}`
    return err({ code: 'conflict', detail })
  }
  const nowMs = context.clock.nowMs()
  const byName = callerName(context, caller)
  const decision: RunDecision = { action, byId: caller.userId, byName, atMs: nowMs, comment }
  const interrupted =
    action === 'cancel' ? interruptedRows(context.store.tables, before, decision) : undefined
  if (interrupted !== undefined) {
    if (!interrupted.ok) return interrupted
    const { run, changes } = interrupted.value
    await writeDecision(context, caller, { run, changes })
    return ok({ ...seen.value, run })
  }
  const run = { ...movedRun(before, [to], nowMs), decision }
  const { tables } = context.store
  await writeDecision(context, caller, {
    run,
    changes: [
      ...(action === 'apply' ? [] : endedRows(tables, run, nowMs)),
      ...runRows(tables, run, nowMs),
    ],
  })
  return ok({ ...seen.value, run })
}

async function writeDecision(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { run, changes }: { readonly run: RunRow; readonly changes: readonly Change[] },
): Promise<void> {
  await commitWrite(context, {
    action: 'RunDecided',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes,
  })
}

/** Returns the run if the caller may decide about it; its creator may also cancel it. */
export function findDecidable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action }: Pick<Decision, 'runId' | 'action'>,
): Result<SeenRun, GovernanceRefusal> {
  const seen = findRun(context, caller, { runId, right: 'read' })
  if (!seen.ok) return seen
  const { rights, run } = seen.value
  const isOwn = action === 'cancel' && run.createdById === caller.userId && rights.queuePlan
  return rights.queueApply || isOwn
    ? seen
    : findRun(context, caller, { runId, right: 'queueApply' })
}

/** Records the result that an external executor reports for the apply of a confirmed run. */
export async function reportRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  report: { readonly runId: string; readonly status: 'applied' | 'errored' },
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const seen = findRun(context, caller, { runId: report.runId, right: 'queueApply' })
  if (!seen.ok) return seen
  const { run: before, workspace } = seen.value
  if (before.execution !== undefined)
    return err({
      code: 'conflict',
      detail: 'The run uses remote execution; its result cannot be reported by a client',
    })
  if (before.status !== 'confirmed')
    return err({ code: 'conflict', detail: `The run is ${before.status}, not confirmed` })
  const nowMs = context.clock.nowMs()
  const run = movedRun(before, [report.status], nowMs)
  const after = afterApply(workspace, { ...report, isDestroy: run.isDestroy }, nowMs)
  await commitWrite(context, {
    action: 'RunReported',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes: [
      put('runs', run),
      ...(after === workspace ? [] : [put('workspaces', after)]),
      ...(report.status === 'applied' ? triggeredRows(context, run) : []),
    ],
  })
  return ok({ ...seen.value, run })
}
