import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, StateVersionRow } from '../../model/index.ts'
import { findUploader, uploadOnce } from '../blobs/pending-uploads.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { NOT_FOUND } from '../../model/index.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import { storeJsonState, storeState } from './store-state.ts'

interface KeyedUpload {
  readonly uploadKey: string
  readonly bytes: Uint8Array
}

/**
 * Stores the state of the version with this upload key. Uploading the same bytes again succeeds,
 * because a client whose response was lost repeats the request.
 */
export async function uploadState(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, bytes }: KeyedUpload,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const found = findByUploadKey(context, sender, { uploadKey, form: 'upload' })
  if (!found.ok) return found
  const { row, caller } = found.value
  const { id, status, md5 } = row
  if (status === 'pending')
    return await uploadOnce(context, id, () => storeState(context, caller, { stateId: id, bytes }))
  const isSame = status === 'finalized' && md5Of(bytes) === md5
  return isSame ? ok(row) : err(STATE_ALREADY_UPLOADED)
}

/** Stores the JSON form of the state of the version with this upload key. */
export async function uploadJsonState(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, bytes }: KeyedUpload,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const found = findByUploadKey(context, sender, { uploadKey, form: 'jsonUpload' })
  if (!found.ok) return found
  const { row, caller } = found.value
  const { id, status, jsonState } = row
  // The JSON form has no stored digest: a repeated upload is recognized by its length.
  if (jsonState !== null)
    return jsonState.bytes === bytes.length ? ok(row) : err(STATE_ALREADY_UPLOADED)
  if (status === 'discarded') return err(STATE_ALREADY_UPLOADED)
  return await uploadOnce(context, `${id}/json`, () =>
    storeJsonState(context, caller, { stateId: id, bytes }),
  )
}

const STATE_ALREADY_UPLOADED: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The state version has a state, or was discarded; create another one to write a state',
}

interface KeyedState {
  readonly row: StateVersionRow
  readonly caller: GovernanceCaller
}

function findByUploadKey(
  context: GovernanceContext,
  sender: GovernanceCaller,
  { uploadKey, form }: { readonly uploadKey: string; readonly form: 'upload' | 'jsonUpload' },
): Result<KeyedState, GovernanceRefusal> {
  const { state_versions: versions } = context.store.tables
  const [id] = versions.keysByIndex(form, context.sealer.hash(uploadKey))
  const row = id === undefined ? undefined : versions.get(id)
  if (row === undefined) return err(NOT_FOUND)
  const caller = findUploader(context, row[form], sender)
  if (!caller.ok) return caller
  const address = { workspaceId: row.workspaceId }
  const found = findWorkspaceWith(context, caller.value, { address, right: 'writeState' })
  return found.ok ? ok({ row, caller: caller.value }) : found
}

function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex')
}
