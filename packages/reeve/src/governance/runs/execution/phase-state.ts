import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunRow } from '../../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../../state/index.ts'
import type { GovernanceCaller } from '../../caller.ts'
import type { GovernanceContext } from '../../context.ts'
import { commitNewState, newStateRow } from '../../state-versions/create-state.ts'
import {
  currentState,
  readStatePart,
  deleteStateBlobsChanges,
  stateVersionsOf,
} from '../../state-versions/state-versions.ts'
import { storeState } from '../../state-versions/store-state.ts'
import { decideWrite } from '../../state-versions/write-rules.ts'
import { findPhase, type PhaseCall } from './phase-access.ts'
import { isLockedByRun } from './run-rows.ts'

/** Returns the initial state of a phase; undefined if the workspace has none. */
export async function readPhaseState(
  context: GovernanceContext,
  request: PhaseCall,
): Promise<Result<Uint8Array | undefined, GovernanceRefusal>> {
  const found = findPhase(context, request)
  if (!found.ok) return found
  const current = currentState(context.store.tables, found.value.run.workspaceId)
  return ok(current === undefined ? undefined : await readStatePart(context, current, 'state'))
}

/**
 * Stores the state after or during an apply. Only the run that holds the workspace may write it,
 * and never an older state than the current one: of two attempts, the abandoned one is rejected.
 */
export async function writePhaseState(
  context: GovernanceContext,
  request: PhaseCall & { readonly bytes: Uint8Array },
): Promise<Result<undefined, GovernanceRefusal>> {
  const found = findPhase(context, request)
  if (!found.ok) return found
  const { phase, run } = found.value
  if (phase.phase !== 'apply')
    return err({ code: 'conflict', detail: 'Only an apply writes the state of its workspace' })
  const inspected = await context.states.inspect(request.bytes, run.organizationId)
  if (!inspected.ok) return err({ code: 'unprocessable', detail: inspected.error })
  // The phase may have ended while a large state was read.
  const foundAgain = findPhase(context, request)
  if (!foundAgain.ok) return foundAgain
  const { tables } = context.store
  const workspace = tables.workspaces.get(run.workspaceId)
  if (!isLockedByRun(workspace.lock, run.id))
    return err({ code: 'conflict', detail: 'The workspace is not locked by this run any more' })
  const { serial, lineage, md5 } = inspected.value
  const write = { serial, lineage, md5, force: false }
  const decision = decideWrite(currentState(tables, workspace.id), write, { isRun: true })
  if (decision.kind === 'refuse') return err({ code: 'conflict', detail: decision.detail })
  if (decision.kind === 'repeat') return ok(undefined)
  const caller = callerOfRun(run)
  const created = newStateRow(context, caller, { visible: { workspace }, write, runId: run.id })
  const row = { ...created.row, intermediate: true }
  await commitNewState(context, caller, { row })
  const stored = await storeState(context, caller, { stateId: row.id, bytes: request.bytes })
  return stored.ok ? ok(undefined) : stored
}

/**
 * State versions of a run are attributed to its creator, although no request of theirs wrote them.
 */
function callerOfRun({ createdById }: RunRow): GovernanceCaller {
  return { kind: 'user', userId: createdById, isAdmin: false, tokenId: '', by: 'system' }
}

/** Deletes the intermediate states of an apply; only the last one is kept. */
export function finalizeIntermediateStatesChanges(
  tables: Tables,
  { id: runId, workspaceId }: RunRow,
): readonly Change[] {
  const intermediateStates = stateVersionsOf(tables, workspaceId, 'finalized').filter(
    (row) => row.runId === runId && row.intermediate,
  )
  return intermediateStates.flatMap((row, index) =>
    index === 0
      ? [put('state_versions', { ...row, intermediate: false })]
      : [...deleteStateBlobsChanges(tables, row), remove('state_versions', row.id)],
  )
}
