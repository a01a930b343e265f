import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  type GovernanceRefusal,
  type StateVersionRow,
} from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { commitNewState, findStateWriter, newStateRow } from './create-state.ts'
import { currentState, readStatePart, type VisibleState } from './state-versions.ts'
import { storeJsonState, storeState } from './store-state.ts'

export interface RollbackRequest {
  readonly workspaceId: string
  /** ID of the version whose state becomes the current one. */
  readonly stateId: string
}

/**
 * Copies an earlier state to a new version with the next serial; existing versions are unchanged.
 */
export async function rollBackState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, stateId }: RollbackRequest,
): Promise<Result<VisibleState, GovernanceRefusal>> {
  const found = findStateWriter(context, caller, workspaceId)
  if (!found.ok) return found
  const { tables } = context.store
  const source = tables.state_versions.find(stateId)
  if (source === undefined || source.workspaceId !== workspaceId || source.status !== 'finalized')
    return err(
      invalidAttribute(
        ROLLBACK_POINTER,
        'Rollback state version is no finalized state of the workspace',
      ),
    )
  const bytes = await readStatePart(context, source, 'state')
  if (bytes === undefined)
    return err(invalidAttribute(ROLLBACK_POINTER, 'Rollback state version is not kept'))
  const serial = (currentState(tables, workspaceId)?.serial ?? source.serial) + 1
  const renumbered = withSerial(bytes, serial)
  const md5 = createHash('md5').update(renumbered).digest('hex')
  const write = { serial, md5, lineage: source.lineage }
  const { row } = newStateRow(context, caller, { visible: found.value, write })
  const rollback: StateVersionRow = { ...row, rollbackOfId: source.id }
  await commitNewState(context, caller, { row: rollback })
  const stored = await storeState(context, caller, { stateId: row.id, bytes: renumbered })
  if (!stored.ok) return stored
  const json = await readStatePart(context, source, 'jsonState')
  if (json === undefined) return ok({ ...found.value, state: stored.value })
  const withJson = await storeJsonState(context, caller, { stateId: row.id, bytes: json })
  return withJson.ok ? ok({ ...found.value, state: withJson.value }) : withJson
}

const ROLLBACK_POINTER = '/data/relationships/rollback-state-version/data'

/** Replaces the serial in a state and leaves all other bytes unchanged. */
function withSerial(bytes: Uint8Array, serial: number): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1')
  // Latin-1 preserves every byte.
  return Buffer.from(text.replace(/("serial"\s*:\s*)\d+/, `$1${serial}`), 'latin1')
}
