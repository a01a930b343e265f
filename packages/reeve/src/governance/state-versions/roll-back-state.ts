import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalid, type GovernanceRefusal, type StateVersionRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { commitNew, findStateWriter, newState } from './create-state.ts'
import { currentState, readStatePart, type SeenState } from './state-versions.ts'
import { storeJsonState, storeState } from './store-state.ts'

export interface RollbackWish {
  readonly workspaceId: string
  /** The version whose state becomes the current one. */
  readonly stateId: string
}

/** Copies an earlier state as a new version with the next serial: the history stays as it is. */
export async function rollBackState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, stateId }: RollbackWish,
): Promise<Result<SeenState, GovernanceRefusal>> {
  const seen = findStateWriter(context, caller, workspaceId)
  if (!seen.ok) return seen
  const { tables } = context.store
  const from = tables.state_versions.find(stateId)
  if (from === undefined || from.workspaceId !== workspaceId || from.status !== 'finalized')
    return err(invalid(POINTER, 'Rollback state version is no finalized state of the workspace'))
  const bytes = await readStatePart(context, from, 'state')
  if (bytes === undefined) return err(invalid(POINTER, 'Rollback state version is not kept'))
  const serial = (currentState(tables, workspaceId)?.serial ?? from.serial) + 1
  const renumbered = withSerial(bytes, serial)
  const md5 = createHash('md5').update(renumbered).digest('hex')
  const wish = { serial, md5, lineage: from.lineage }
  const { row } = newState(context, caller, { seen: seen.value, wish })
  const rollback: StateVersionRow = { ...row, rollbackOfId: from.id }
  await commitNew(context, caller, { row: rollback })
  const stored = await storeState(context, caller, { stateId: row.id, bytes: renumbered })
  if (!stored.ok) return stored
  const json = await readStatePart(context, from, 'jsonState')
  if (json === undefined) return ok({ ...seen.value, state: stored.value })
  const both = await storeJsonState(context, caller, { stateId: row.id, bytes: json })
  return both.ok ? ok({ ...seen.value, state: both.value }) : both
}

const POINTER = '/data/relationships/rollback-state-version/data'

/** The serial stands near the start of a state; every other byte stays as it is. */
function withSerial(bytes: Uint8Array, serial: number): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1')
  // Latin 1 keeps every byte, whatever the text is.
  return Buffer.from(text.replace(/("serial"\s*:\s*)\d+/, `$1${serial}`), 'latin1')
}
