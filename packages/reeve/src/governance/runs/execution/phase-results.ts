import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunFileRow, RunRow } from '../../../model/index.ts'
import { organizationTenant } from '../../../policy/index.ts'
import { put, type Change } from '../../../state/index.ts'
import { readBlob, storeBlob } from '../../blobs/sealed-blobs.ts'
import { GOVERNANCE_CAUSE } from '../../commit.ts'
import { readConfigurationArchive } from '../../configuration-versions/configuration-versions.ts'
import type { GovernanceContext } from '../../context.ts'
import { triggeredRows } from '../../run-triggers/triggered-runs.ts'
import { freezeSets, pinCode, sealSets } from '../frozen-sets.ts'
import { storePlanParts } from '../plan-blobs.ts'
import { waitingRows } from '../policy-rows.ts'
import { afterPolicies } from '../run-progress.ts'
import { movedRun } from '../run-states.ts'
import { inspectedPlan } from '../upload-plan.ts'
import { moved } from './moved.ts'
import { ticketEnd } from './phase-ticket.ts'
import { findAbandonedApply, findPhase, type PhaseCall, type SeenPhase } from './phase-access.ts'
import { appliedRows, failedPhaseRows } from './phase-moves.ts'
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

/** Stores a file of the run. Policies evaluate the JSON plan. */
export async function writePhaseFile(
  context: GovernanceContext,
  call: PhaseCall & { readonly name: v2.RunFileName; readonly bytes: Uint8Array },
): Promise<Result<undefined, GovernanceRefusal>> {
  const find = call.name === 'errored-state' ? findStateKeeper : findPhase
  const seen = find(context, call)
  if (!seen.ok) return seen
  if (call.name === 'plan-json') return await storePlanJson(context, call, seen.value)
  return await storeFile(context, { ...call, find }, seen.value)
}

/** The state of an apply is accepted after its end too, for manual comparison. */
function findStateKeeper(
  context: GovernanceContext,
  call: PhaseCall,
): Result<SeenPhase, GovernanceRefusal> {
  const seen = findPhase(context, call)
  return seen.ok ? seen : findAbandonedApply(context, call)
}

interface FileCall extends PhaseCall {
  readonly name: v2.RunFileName
  readonly bytes: Uint8Array
  readonly find: typeof findPhase
}

async function storeFile(
  context: GovernanceContext,
  call: FileCall,
  { run }: SeenPhase,
): Promise<Result<undefined, GovernanceRefusal>> {
  const { organizationId, workspaceId, id: runId } = run
  const { name, bytes, find } = call
  const id = fileId(runId, name)
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: id },
    { bytes, isWanted: () => find(context, call).ok },
  )
  const now = find(context, call)
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

/** Reads a file of a run; undefined if it does not exist. */
export async function readRunFile(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  runId: string,
  name: v2.RunFileName,
): Promise<Uint8Array | undefined> {
  const id = fileId(runId, name)
  const row = context.store.tables.run_files.find(id)
  return row === undefined ? undefined : await readBlob(context, { ownerId: id, length: row.bytes })
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
  const stored = await storePlanParts(context, tables.run_plans.get(run.planId), {
    bytes,
    isWanted,
  })
  if (stored === undefined || !isWanted()) return err({ code: 'unseen' })
  const before = tables.run_plans.get(run.planId)
  const plan = { ...before, bytes: bytes.length, isSealed: true, counts, hasChanges }
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
type PhaseEnd = Pick<
  v2.PhaseFinishRequest,
  'outcome' | 'message' | 'generatedConfiguration' | 'stateUncertain'
>

function phaseEnd(
  context: GovernanceContext,
  { phase, run }: SeenPhase,
  end: PhaseEnd,
): readonly Change[] {
  const nowMs = context.clock.nowMs()
  const { tables } = context.store
  if (end.outcome === 'finished')
    return phase.phase === 'plan'
      ? plannedRows(context, { phase, run }, { end, nowMs })
      : [...appliedRows(tables, { phase, run }, nowMs), ...triggeredRows(context, run)]
  // An interrupted tool exits with an error, which counts as canceled.
  const outcome = phase.cancellation === 'none' ? end.outcome : 'canceled'
  const keepsLock = end.stateUncertain === true
  return failedPhaseRows(
    tables,
    { phase, run },
    { outcome, message: end.message, keepsLock, nowMs },
  )
}

/** A plan that finished: policies are asked, or the run rests, in the commit that ends its log. */
function plannedRows(
  context: GovernanceContext,
  { phase, run: before }: SeenPhase,
  { end, nowMs }: { readonly end: PhaseEnd; readonly nowMs: number },
): readonly Change[] {
  const { tables } = context.store
  const plan = tables.run_plans.get(before.planId)
  const sets = freezeSets(context, before.workspaceId)
  const planned: RunRow = { ...withGenerated(before, end), hasChanges: plan.hasChanges }
  const isJudged = sets.length > 0
  const rest = isJudged ? (['post_plan_running'] as const) : afterPolicies(planned)
  const run = movedRun(planned, ['planned', ...rest], nowMs)
  const frozenSets = isJudged ? sealSets(context, sets) : null
  return [
    put('run_phases', { ...phase, ...moved(phase, 'finished', nowMs) }),
    ...ticketEnd(tables, phase),
    put('run_plans', { ...plan, ...moved(plan, 'finished', nowMs), frozenSets }),
    ...waitingRows(context, run, sets),
    ...pinCode(context, sets, plan),
    ...runRows(tables, run, nowMs),
  ]
}

function withGenerated(run: RunRow, { generatedConfiguration }: PhaseEnd): RunRow {
  if (run.execution === undefined || generatedConfiguration !== true) return run
  return { ...run, execution: { ...run.execution, generatedConfiguration } }
}
