import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, StateVersionRow } from '../../model/index.ts'
import { findUploader, uploadOnce } from '../blobs/pending-uploads.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { UNSEEN } from '../../model/index.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import { storeJsonState, storeState } from './store-state.ts'

interface KeyedBytes {
  readonly uploadKey: string
  readonly bytes: Uint8Array
}

/**
 * Takes the state of the version whose upload URL has this key. The same bytes once more are no
 * error: a client whose answer was lost sends them again.
 */
export async function uploadState(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, bytes }: KeyedBytes,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const found = findByKey(context, sender, { uploadKey, form: 'upload' })
  if (!found.ok) return found
  const { row, caller } = found.value
  const { id, status, md5 } = row
  if (status === 'pending')
    return await uploadOnce(context, id, () => storeState(context, caller, { stateId: id, bytes }))
  const isSame = status === 'finalized' && md5Of(bytes) === md5
  return isSame ? ok(row) : err(UPLOADED)
}

/** The same for its JSON form. */
export async function uploadJsonState(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, bytes }: KeyedBytes,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const found = findByKey(context, sender, { uploadKey, form: 'jsonUpload' })
  if (!found.ok) return found
  const { row, caller } = found.value
  const { id, status, jsonState } = row
  // The JSON form has no stored digest: a repeated upload is recognized by its length.
  if (jsonState !== null) return jsonState.bytes === bytes.length ? ok(row) : err(UPLOADED)
  if (status === 'discarded') return err(UPLOADED)
  return await uploadOnce(context, `${id}/json`, () =>
    storeJsonState(context, caller, { stateId: id, bytes }),
  )
}

const UPLOADED: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The state version has a state, or was discarded; create another one to write a state',
}

interface KeyedState {
  readonly row: StateVersionRow
  readonly caller: GovernanceCaller
}

function findByKey(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, form }: { readonly uploadKey: string; readonly form: 'upload' | 'jsonUpload' },
): Result<KeyedState, GovernanceRefusal> {
  const { state_versions: versions } = context.store.tables
  const [id] = versions.keysIn(form, context.sealer.hash(uploadKey))
  const row = id === undefined ? undefined : versions.get(id)
  if (row === undefined) return err(UNSEEN)
  const caller = findUploader(context, row[form], sender)
  if (!caller.ok) return caller
  const address = { workspaceId: row.workspaceId }
  const seen = findWorkspaceWith(context, caller.value, { address, right: 'writeState' })
  return seen.ok ? ok({ row, caller: caller.value }) : seen
}

function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex')
}
