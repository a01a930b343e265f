import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '../../../kit/result.ts'
import type { GovernanceRefusal, RunFileRow, RunPhaseRow, RunRow } from '../../../model/index.ts'
import { organizationTenant } from '../../../policy/index.ts'
import { put, scopedKey, type Change, type Tables } from '../../../state/index.ts'
import { readBlob, storeBlob } from '../../blobs/sealed-blobs.ts'
import { GOVERNANCE_CAUSE } from '../../commit.ts'
import { readConfigurationArchive } from '../../configuration-versions/configuration-versions.ts'
import type { GovernanceContext } from '../../context.ts'
import { endedRows } from '../decide-run.ts'
import { freezeSets, pinCode, sealSets } from '../frozen-sets.ts'
import { storePlanParts } from '../plan-blobs.ts'
import { waitingRows } from '../policy-rows.ts'
import { afterPolicies } from '../run-progress.ts'
import { movedRun } from '../run-states.ts'
import { inspectedPlan } from '../upload-plan.ts'
import { findPhase, moved, type PhaseCall, type SeenPhase } from './phase-access.ts'
import { appendLog } from './run-logs.ts'
import { runRows } from './run-rows.ts'

/** Stores bytes of the log at its end. */
export async function writePhaseLog(
  context: GovernanceContext,
  call: PhaseCall & { readonly offset: number; readonly bytes: Uint8Array },
): Promise<Result<undefined, GovernanceRefusal>> {
  const seen = findPhase(context, call)
  if (!seen.ok) return seen
  const appended = appendLog(context, seen.value.phase, call)
  if (!appended.ok) return appended
  const { changes, blobs } = appended.value
  if (changes.length > 0)
    await context.store.commit({ by: 'system', cause: undefined, changes: () => changes, blobs })
      .durable
  return ok(undefined)
}

/** Stores a file of the run; the JSON of the plan is what policies will be asked about. */
export async function writePhaseFile(
  context: GovernanceContext,
  call: PhaseCall & { readonly name: v2.RunFileName; readonly bytes: Uint8Array },
): Promise<Result<undefined, GovernanceRefusal>> {
  const seen = findPhase(context, call)
  if (!seen.ok) return seen
  if (call.name === 'plan-json') return await storePlanJson(context, call, seen.value)
  return await storeFile(context, call, seen.value)
}

async function storeFile(
  context: GovernanceContext,
  call: PhaseCall & { readonly name: v2.RunFileName; readonly bytes: Uint8Array },
  { run }: SeenPhase,
): Promise<Result<undefined, GovernanceRefusal>> {
  const { organizationId, workspaceId, id: runId } = run
  const { name, bytes } = call
  const id = fileId(runId, name)
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: id },
    { bytes, isWanted: () => findPhase(context, call).ok },
  )
  const now = findPhase(context, call)
  if (blob === undefined || !now.ok) return err({ code: 'unseen' })
  const row: RunFileRow = { id, organizationId, workspaceId, runId, name, bytes: bytes.length }
  await context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('run_files', row), ...blob.changes],
    blobs: blob.blobs,
  }).durable
  return ok(undefined)
}

/** The configuration that the run plans. */
export async function readPhaseConfiguration(
  context: GovernanceContext,
  call: PhaseCall,
): Promise<Result<Uint8Array | undefined, GovernanceRefusal>> {
  const seen = findPhase(context, call)
  if (!seen.ok) return seen
  const id = seen.value.run.configurationVersionId ?? ''
  const configuration = context.store.tables.configuration_versions.find(id)
  return ok(
    configuration === undefined
      ? undefined
      : await readConfigurationArchive(context, configuration),
  )
}

function fileId(runId: string, name: v2.RunFileName): string {
  return `${runId}/${name}`
}

/** A file that the run has left; undefined when it has left none of this name. */
export async function readRunFile(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  runId: string,
  name: v2.RunFileName,
): Promise<Uint8Array | undefined> {
  const id = fileId(runId, name)
  const row = context.store.tables.run_files.find(id)
  return row === undefined
    ? undefined
    : await readBlob(context, { ownerId: id, length: row.bytes })
}

async function storePlanJson(
  context: GovernanceContext,
  call: PhaseCall & { readonly bytes: Uint8Array },
  { run }: SeenPhase,
): Promise<Result<undefined, GovernanceRefusal>> {
  const origin = { tenant: organizationTenant(run.organizationId) }
  const facts = await inspectedPlan(context, call.bytes, origin)
  if (!facts.ok) return err({ code: 'unprocessable', detail: facts.error })
  const { bytes, counts, hasChanges } = facts.value
  const { tables } = context.store
  const isWanted = (): boolean => findPhase(context, call).ok
  const stored = await storePlanParts(context.store, tables.run_plans.get(run.planId), {
    bytes,
    isWanted,
  })
  if (stored === undefined || !isWanted()) return err({ code: 'unseen' })
  const plan = { ...tables.run_plans.get(run.planId), bytes: bytes.length, counts, hasChanges }
  await context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('run_plans', plan), ...stored.changes],
    blobs: stored.blobs,
  }).durable
  return ok(undefined)
}

/**
 * The end of a phase. The end of the log, the status of the phase and the next resting status of
 * the run are one commit: clients read the run once when its log has ended.
 */
export async function finishPhase(
  context: GovernanceContext,
  call: PhaseCall & { readonly end: v2.PhaseFinishRequest },
): Promise<Result<undefined, GovernanceRefusal>> {
  const seen = findPhase(context, call)
  if (!seen.ok) return seen
  const { phase, run } = seen.value
  const { end } = call
  if (end.logBytes !== phase.logBytes) {
    const detail = `The log has ${phase.logBytes} bytes, and ${end.logBytes} were written`
    return err({ code: 'conflict', detail })
  }
  const hasPlan = context.store.tables.run_plans.get(run.planId).bytes !== null
  if (phase.phase === 'plan' && end.outcome === 'finished' && !hasPlan)
    return err({ code: 'unprocessable', detail: 'A plan that finished needs its JSON export' })
  await context.store.commit({
    by: 'system',
    cause: GOVERNANCE_CAUSE,
    changes: () => phaseEnd(context, seen.value, end),
  }).durable
  return ok(undefined)
}

/** How a phase ended; the log is complete. */
export type PhaseEnd = Pick<
  v2.PhaseFinishRequest,
  'outcome' | 'message' | 'generatedConfiguration' | 'stateUncertain'
>

/** What is written when a phase has ended, whoever found out. */
export function phaseEnd(
  context: GovernanceContext,
  { phase, run }: SeenPhase,
  end: PhaseEnd,
): readonly Change[] {
  const nowMs = context.clock.nowMs()
  // A tool that was interrupted fails; that is what was asked for.
  const isCanceled = phase.cancellation !== 'none' && end.outcome !== 'finished'
  const outcome = isCanceled ? 'canceled' : end.outcome
  const ended: RunPhaseRow = { ...phase, ...moved(phase, outcome, nowMs) }
  const rest =
    phase.phase === 'plan'
      ? planEnd(context, withEnd(run, end), { outcome, nowMs })
      : applyEnd(context.store.tables, withEnd(run, end), { outcome, nowMs })
  return [put('run_phases', ended), ...rest]
}

function withEnd(run: RunRow, end: PhaseEnd): RunRow {
  if (run.execution === undefined) return run
  const reason = end.message ?? run.execution.reason
  const keepsLock = end.stateUncertain === true
  const generatedConfiguration = end.generatedConfiguration === true
  return { ...run, execution: { ...run.execution, reason, keepsLock, generatedConfiguration } }
}

interface Ended {
  readonly outcome: v2.PhaseOutcome
  readonly nowMs: number
}

function planEnd(
  context: GovernanceContext,
  before: RunRow,
  { outcome, nowMs }: Ended,
): readonly Change[] {
  const { tables } = context.store
  const plan = tables.run_plans.get(before.planId)
  if (outcome !== 'finished') {
    const run = movedRun(before, [outcome], nowMs)
    return [
      ...endedRows(tables, run, nowMs),
      put('run_plans', { ...plan, ...moved(plan, outcome, nowMs) }),
      ...runRows(tables, run, nowMs),
    ]
  }
  const sets = freezeSets(context, before.workspaceId)
  const planned = { ...before, hasChanges: plan.hasChanges }
  const isJudged = sets.length > 0
  const rest = isJudged ? (['post_plan_running'] as const) : afterPolicies(planned)
  const run = movedRun(planned, ['planned', ...rest], nowMs)
  const frozenSets = isJudged ? sealSets(context, sets) : null
  return [
    put('run_plans', { ...plan, ...moved(plan, 'finished', nowMs), frozenSets }),
    ...waitingRows(context, run, sets),
    ...pinCode(context, sets, plan),
    ...runRows(tables, run, nowMs),
  ]
}

function applyEnd(tables: Tables, before: RunRow, { outcome, nowMs }: Ended): readonly Change[] {
  const status = outcome === 'finished' ? 'applied' : outcome
  const run = movedRun(before, [status], nowMs)
  return [
    ...runRows(tables, run, nowMs),
    ...(status === 'applied' ? staleRuns(tables, run, nowMs) : []),
  ]
}

/** Plans that were saved before another run was applied describe a state that is gone. */
function staleRuns(tables: Tables, applied: RunRow, nowMs: number): readonly Change[] {
  return tables.runs
    .rowsIn('workspaceStatus', scopedKey(applied.workspaceId, 'planned_and_saved'))
    .filter(({ id }) => id !== applied.id)
    .flatMap((run) => {
      const discarded = movedRun(run, ['discarded'], nowMs)
      return [...endedRows(tables, discarded, nowMs), ...runRows(tables, discarded, nowMs)]
    })
}
