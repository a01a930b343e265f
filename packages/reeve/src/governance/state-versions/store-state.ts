import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type StateVersionRow,
  type StoredState,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { findUploader, storeBlob, type StoredBlob, uploadOnce } from '../blobs.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { autoDestroyAfterApply } from '../workspaces/auto-destroy.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import type { InspectedState } from './inspect-state.ts'
import { blobOwnerId, deleteStateBlobsChanges, type StatePart } from './state-versions.ts'

interface StateUpload {
  readonly stateId: string
  readonly bytes: Uint8Array
}

/**
 * Stores the state of a pending version, which becomes the current one, and the parsed parts in the
 * same commit. A state that differs from the announced one discards the version.
 */
export async function storeState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, bytes }: StateUpload,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const owner = findPendingState(context, stateId)
  if (!owner.ok) return owner
  const inspected = await context.states.inspect(bytes, owner.value.organizationId)
  const problem = inspected.ok ? contentProblem(owner.value, inspected.value) : inspected.error
  if (!inspected.ok || problem !== undefined)
    return await discardState(context, caller, { stateId, problem: problem ?? '' })
  const digest = await storeCompressed(context, owner.value, {
    part: 'digest',
    bytes: inspected.value.digest,
  })
  const state = await storeCompressed(context, owner.value, { part: 'state', bytes })
  // Storing a large state takes time, so the version is looked up again.
  const before = findPendingState(context, stateId)
  if (!before.ok) return before
  if (digest === undefined || state === undefined) return err(NOT_PENDING)
  const { lineage, format, toolVersion, resourceCount } = inspected.value
  const row: StateVersionRow = {
    ...before.value,
    status: 'finalized',
    lineage,
    format,
    toolVersion,
    resourceCount,
    state: state.stored,
    digest: digest.stored,
  }
  await commitState(context, caller, row, {
    changes: [
      ...state.blob.changes,
      ...digest.blob.changes,
      ...workspaceActivityChanges(context, row),
    ],
    blobs: [...state.blob.blobs, ...digest.blob.blobs],
  })
  return ok(row)
}

function findPendingState(
  { store }: Pick<GovernanceContext, 'store'>,
  stateId: string,
): Result<StateVersionRow, GovernanceRefusal> {
  const row = store.tables.state_versions.find(stateId)
  if (row === undefined) return err(NOT_FOUND)
  return row.status === 'pending' ? ok(row) : err(NOT_PENDING)
}

const NOT_PENDING: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The state version is not pending any more; create another one to write a state',
}

/** Returns why the state differs from the announced one. */
function contentProblem(row: StateVersionRow, inspected: InspectedState): string | undefined {
  const { md5, serial, lineage } = inspected
  if (md5 !== row.md5) return `The md5 of the state is ${md5}, and ${row.md5} was announced`
  if (serial !== row.serial)
    return `The serial of the state is ${serial}, and ${row.serial} was announced`
  if (row.lineage !== null && lineage !== row.lineage)
    return `The lineage of the state is ${lineage}, and ${row.lineage} was announced`
  return undefined
}

interface CompressedPart {
  readonly stored: StoredState
  readonly blob: StoredBlob
}

/** Compresses and stores a part of a version; undefined if the version was discarded meanwhile. */
async function storeCompressed(
  context: GovernanceContext,
  row: StateVersionRow,
  { part, bytes }: { readonly part: StatePart; readonly bytes: Uint8Array },
): Promise<CompressedPart | undefined> {
  const { id, organizationId, workspaceId } = row
  const compressed = await promisify(gzip)(bytes)
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: blobOwnerId(row, part) },
    { bytes: compressed, isWanted: () => isNotDiscarded(context, id) },
  )
  const stored = { bytes: bytes.length, storedBytes: compressed.length }
  return blob === undefined ? undefined : { stored, blob }
}

function isNotDiscarded({ store }: Pick<GovernanceContext, 'store'>, id: string): boolean {
  const row = store.tables.state_versions.find(id)
  return row !== undefined && row.status !== 'discarded'
}

/** A state that is written without a run counts as activity in the workspace. */
function workspaceActivityChanges(
  { store, clock }: GovernanceContext,
  { workspaceId, runId }: StateVersionRow,
): readonly Change[] {
  const workspace = store.tables.workspaces.find(workspaceId)
  if (workspace === undefined || runId !== null) return []
  const applied = { isDestroy: false, status: 'applied' } as const
  return [put('workspaces', autoDestroyAfterApply(workspace, applied, clock.nowMs()))]
}

async function discardState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, problem }: { readonly stateId: string; readonly problem: string },
): Promise<Result<never, GovernanceRefusal>> {
  const before = findPendingState(context, stateId)
  if (!before.ok) return before
  const row: StateVersionRow = { ...before.value, status: 'discarded' }
  const changes = deleteStateBlobsChanges(context.store.tables, row)
  await commitState(context, caller, row, { changes, blobs: [] })
  return err({ code: 'unprocessable', detail: problem })
}

/** Stores the JSON form of a state, before or after the state itself. */
export async function storeJsonState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, bytes }: StateUpload,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const owner = context.store.tables.state_versions.find(stateId)
  if (owner === undefined) return err(NOT_FOUND)
  const compressed = await storeCompressed(context, owner, { part: 'jsonState', bytes })
  const before = context.store.tables.state_versions.find(stateId)
  if (before === undefined) return err(NOT_FOUND)
  if (compressed === undefined) return err(NOT_PENDING)
  const row: StateVersionRow = { ...before, jsonState: compressed.stored }
  await commitState(context, caller, row, compressed.blob)
  return ok(row)
}

async function commitState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: StateVersionRow,
  { changes, blobs }: StoredBlob,
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id],
    changes: [put('state_versions', row), ...changes],
    blobs,
  })
}

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
