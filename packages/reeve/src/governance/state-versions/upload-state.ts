import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, StateVersionRow } from '../../model/index.ts'
import { uploadOnce } from '../blobs/pending-uploads.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { UNSEEN } from '../../model/index.ts'
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
  caller: GovernanceCaller,
  { uploadKey, bytes }: KeyedBytes,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const found = findByKey(context, { uploadKey, form: 'upload' })
  if (!found.ok) return found
  const { id, status, md5 } = found.value
  if (status === 'pending')
    return await uploadOnce(context, id, () => storeState(context, caller, { stateId: id, bytes }))
  const isSame = status === 'finalized' && md5Of(bytes) === md5
  return isSame ? found : err(UPLOADED)
}

/** The same for its JSON form. */
export async function uploadJsonState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { uploadKey, bytes }: KeyedBytes,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const found = findByKey(context, { uploadKey, form: 'jsonUpload' })
  if (!found.ok) return found
  const { id, status, jsonState } = found.value
  // What it says is what the state says; how long it is tells the same from another one.
  if (jsonState !== null) return jsonState.bytes === bytes.length ? found : err(UPLOADED)
  if (status === 'discarded') return err(UPLOADED)
  return await uploadOnce(context, `${id}/json`, () =>
    storeJsonState(context, caller, { stateId: id, bytes }),
  )
}

const UPLOADED: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The state version has a state, or was discarded; create another one to write a state',
}

function findByKey(
  { store, sealer, clock }: GovernanceContext,
  { uploadKey, form }: { readonly uploadKey: string; readonly form: 'upload' | 'jsonUpload' },
): Result<StateVersionRow, GovernanceRefusal> {
  const { state_versions: versions } = store.tables
  const [id] = versions.keysIn(form, sealer.hash(uploadKey))
  const row = id === undefined ? undefined : versions.get(id)
  const upload = row?.[form]
  if (row === undefined || !upload || upload.expiresMs <= clock.nowMs()) return err(UNSEEN)
  return ok(row)
}

function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex')
}
