import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunFileRow, RunRow } from '../../../model/index.ts'
import { organizationTenant } from '../../../policy/index.ts'
import { put, type Change } from '../../../state/index.ts'
import { readBlob, storeBlob } from '../../blobs.ts'
import { commitSystemWrite } from '../../commit.ts'
import { readConfigurationArchive } from '../../configuration-versions/configuration-versions.ts'
import type { GovernanceContext } from '../../context.ts'
import { triggeredRunChanges } from '../../run-triggers.ts'
import {
  snapshotPolicySets,
  pinCodeChanges,
  sealSnapshots,
  pendingEvaluationChanges,
} from '../policy-set-snapshots.ts'
import { inspectPlanBytes, storePlanParts } from '../plans.ts'
import { nextAfterPolicies, transitionRun } from '../run-status.ts'
import { saveRunChanges, withStatus } from '../run-changes.ts'
import {
  deleteTicketChanges,
  findAbandonedApply,
  findPhase,
  type PhaseCall,
  type VisiblePhase,
} from './phase-access.ts'
import { completeApplyChanges, failPhaseChanges } from './phase-moves.ts'
import { appendLog } from './run-logs.ts'

/** Appends bytes to the log of a phase. */
export async function writePhaseLog(
  context: GovernanceContext,
  request: PhaseCall & { readonly offset: number; readonly bytes: Uint8Array },
): Promise<Result<undefined, GovernanceRefusal>> {
  const found = findPhase(context, request)
  if (!found.ok) return found
  const appended = appendLog(context, found.value.phase, request)
  if (!appended.ok) return appended
  const { changes, blobs } = appended.value
  if (changes.length > 0)
    await commitSystemWrite(context, { changes, blobs, emitsEvents: false }).durable
  return ok(undefined)
}

/** Stores a file of the run. Policies evaluate the JSON plan. */
export async function writePhaseFile(
  context: GovernanceContext,
  request: PhaseCall & { readonly name: v2.RunFileName; readonly bytes: Uint8Array },
): Promise<Result<undefined, GovernanceRefusal>> {
  const find = request.name === 'errored-state' ? findPhaseForState : findPhase
  const found = find(context, request)
  if (!found.ok) return found
  if (request.name === 'plan-json') return await storePlanJson(context, request, found.value)
  return await storeFile(context, { ...request, find }, found.value)
}

/** The state of an apply is accepted after its end too, for manual comparison. */
function findPhaseForState(
  context: GovernanceContext,
  request: PhaseCall,
): Result<VisiblePhase, GovernanceRefusal> {
  const found = findPhase(context, request)
  return found.ok ? found : findAbandonedApply(context, request)
}

interface PhaseFileRequest extends PhaseCall {
  readonly name: v2.RunFileName
  readonly bytes: Uint8Array
  readonly find: typeof findPhase
}

async function storeFile(
  context: GovernanceContext,
  request: PhaseFileRequest,
  { run }: VisiblePhase,
): Promise<Result<undefined, GovernanceRefusal>> {
  const { organizationId, workspaceId, id: runId } = run
  const { name, bytes, find } = request
  const id = runFileId(runId, name)
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: id },
    { bytes, isWanted: () => find(context, request).ok },
  )
  const foundAgain = find(context, request)
  if (blob === undefined || !foundAgain.ok) return err({ code: 'unseen' })
  const row: RunFileRow = { id, organizationId, workspaceId, runId, name, bytes: bytes.length }
  await commitSystemWrite(context, {
    changes: [put('run_files', row), ...blob.changes],
    blobs: blob.blobs,
    emitsEvents: false,
  }).durable
  return ok(undefined)
}

/** Returns the configuration of the run. */
export async function readPhaseConfiguration(
  context: GovernanceContext,
  request: PhaseCall,
): Promise<Result<Uint8Array | undefined, GovernanceRefusal>> {
  const found = findPhase(context, request)
  if (!found.ok) return found
  const id = found.value.run.configurationVersionId ?? ''
  const configuration = context.store.tables.configuration_versions.find(id)
  return ok(
    configuration === undefined
      ? undefined
      : await readConfigurationArchive(context, configuration),
  )
}

function runFileId(runId: string, name: v2.RunFileName): string {
  return `${runId}/${name}`
}

/** Reads a file of a run; undefined if it does not exist. */
export async function readRunFile(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  runId: string,
  name: v2.RunFileName,
): Promise<Uint8Array | undefined> {
  const id = runFileId(runId, name)
  const row = context.store.tables.run_files.find(id)
  return row === undefined ? undefined : await readBlob(context, { ownerId: id, length: row.bytes })
}

async function storePlanJson(
  context: GovernanceContext,
  request: PhaseCall & { readonly bytes: Uint8Array },
  { run }: VisiblePhase,
): Promise<Result<undefined, GovernanceRefusal>> {
  const origin = { tenant: organizationTenant(run.organizationId) }
  const inspected = await inspectPlanBytes(context, request.bytes, origin)
  if (!inspected.ok) return err({ code: 'unprocessable', detail: inspected.error })
  const { bytes, counts, hasChanges } = inspected.value
  const { tables } = context.store
  const isWanted = (): boolean => findPhase(context, request).ok
  const stored = await storePlanParts(context, tables.run_plans.get(run.planId), {
    bytes,
    isWanted,
  })
  if (stored === undefined || !isWanted()) return err({ code: 'unseen' })
  const before = tables.run_plans.get(run.planId)
  const plan = { ...before, bytes: bytes.length, isSealed: true, counts, hasChanges }
  await commitSystemWrite(context, {
    changes: [put('run_plans', plan), ...stored.changes],
    blobs: stored.blobs,
    emitsEvents: false,
  }).durable
  return ok(undefined)
}

/**
 * Ends a phase. The end of the log, the status of the phase and the next status of the run are one
 * commit, because clients read the run once when its log has ended.
 */
export async function finishPhase(
  context: GovernanceContext,
  request: PhaseCall & { readonly end: v2.PhaseFinishRequest },
): Promise<Result<undefined, GovernanceRefusal>> {
  const found = findPhase(context, request)
  if (!found.ok) return found
  const { phase, run } = found.value
  const { end } = request
  if (end.logBytes !== phase.logBytes) {
    const detail = `The log has ${phase.logBytes} bytes, and ${end.logBytes} were written`
    return err({ code: 'conflict', detail })
  }
  const hasPlan = context.store.tables.run_plans.get(run.planId).bytes !== null
  if (phase.phase === 'plan' && end.outcome === 'finished' && !hasPlan)
    return err({ code: 'unprocessable', detail: 'A plan that finished needs its JSON export' })
  const changes = phaseEndChanges(context, found.value, end)
  await commitSystemWrite(context, { changes, emitsEvents: true }).durable
  return ok(undefined)
}

/** Result of a phase; its log is complete. */
type PhaseEnd = Pick<
  v2.PhaseFinishRequest,
  'outcome' | 'message' | 'generatedConfiguration' | 'stateUncertain'
>

function phaseEndChanges(
  context: GovernanceContext,
  { phase, run }: VisiblePhase,
  end: PhaseEnd,
): readonly Change[] {
  const nowMs = context.clock.nowMs()
  const { tables } = context.store
  if (end.outcome === 'finished')
    return phase.phase === 'plan'
      ? completePlanChanges(context, { phase, run }, { end, nowMs })
      : [
          ...completeApplyChanges(tables, { phase, run }, nowMs),
          ...triggeredRunChanges(context, run),
        ]
  // An interrupted tool exits with an error, which counts as canceled.
  const outcome = phase.cancellation === 'none' ? end.outcome : 'canceled'
  const keepsLock = end.stateUncertain === true
  return failPhaseChanges(
    tables,
    { phase, run },
    { outcome, message: end.message, keepsLock, nowMs },
  )
}

/**
 * Returns the changes that complete a plan: its policies are evaluated next, or the run stops, in
 * the commit that ends its log.
 */
function completePlanChanges(
  context: GovernanceContext,
  { phase, run: before }: VisiblePhase,
  { end, nowMs }: { readonly end: PhaseEnd; readonly nowMs: number },
): readonly Change[] {
  const { tables } = context.store
  const plan = tables.run_plans.get(before.planId)
  const sets = snapshotPolicySets(context, before.workspaceId)
  const planned: RunRow = {
    ...withGeneratedConfiguration(before, end),
    hasChanges: plan.hasChanges,
  }
  const needsEvaluation = sets.length > 0
  const nextStatuses = needsEvaluation
    ? (['post_plan_running'] as const)
    : nextAfterPolicies(planned)
  const run = transitionRun(planned, ['planned', ...nextStatuses], nowMs)
  const frozenSets = needsEvaluation ? sealSnapshots(context, sets) : null
  return [
    put('run_phases', { ...phase, ...withStatus(phase, 'finished', nowMs) }),
    ...deleteTicketChanges(tables, phase),
    put('run_plans', { ...plan, ...withStatus(plan, 'finished', nowMs), frozenSets }),
    ...pendingEvaluationChanges(context, run, sets),
    ...pinCodeChanges(context, sets, plan),
    ...saveRunChanges(tables, run, nowMs),
  ]
}

function withGeneratedConfiguration(run: RunRow, { generatedConfiguration }: PhaseEnd): RunRow {
  if (run.execution === undefined || generatedConfiguration !== true) return run
  return { ...run, execution: { ...run.execution, generatedConfiguration } }
}
