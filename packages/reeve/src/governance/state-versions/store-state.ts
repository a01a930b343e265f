import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type GovernanceRefusal,
  type StateVersionRow,
  type StoredState,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { storeBlob, type StoredBlob } from '../blobs/sealed-blobs.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { afterApply } from '../projects/auto-destroy.ts'
import type { InspectedState } from './inspect-state.ts'
import { blobOwner, stateBlobsEnd, type StatePart } from './state-versions.ts'

interface StateBytes {
  readonly stateId: string
  readonly bytes: Uint8Array
}

/**
 * Stores the state of a pending version, which is the current one from then on: in one commit with
 * what was read of it. A state that is not the announced one discards the version.
 */
export async function storeState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, bytes }: StateBytes,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const owner = findPending(context, stateId)
  if (!owner.ok) return owner
  const inspected = await context.states.inspect(bytes, owner.value.organizationId)
  const problem = inspected.ok ? contentProblem(owner.value, inspected.value) : inspected.error
  if (!inspected.ok || problem !== undefined)
    return await discard(context, caller, { stateId, problem: problem ?? '' })
  const digest = await pack(context, owner.value, { part: 'digest', bytes: inspected.value.digest })
  const state = await pack(context, owner.value, { part: 'state', bytes })
  // To store a large state takes a while: only what is true at the end counts.
  const before = findPending(context, stateId)
  if (!before.ok) return before
  if (digest === undefined || state === undefined) return err(GONE)
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
    changes: [...state.blob.changes, ...digest.blob.changes, ...activity(context, row)],
    blobs: [...state.blob.blobs, ...digest.blob.blobs],
  })
  return ok(row)
}

function findPending(
  { store }: Pick<GovernanceContext, 'store'>,
  stateId: string,
): Result<StateVersionRow, GovernanceRefusal> {
  const row = store.tables.state_versions.find(stateId)
  if (row === undefined) return err(UNSEEN)
  return row.status === 'pending' ? ok(row) : err(GONE)
}

const GONE: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The state version is not pending any more; create another one to write a state',
}

/** Why the state is not the one that was announced. */
function contentProblem(row: StateVersionRow, inspected: InspectedState): string | undefined {
  const { md5, serial, lineage } = inspected
  if (md5 !== row.md5) return `The md5 of the state is ${md5}, and ${row.md5} was announced`
  if (serial !== row.serial)
    return `The serial of the state is ${serial}, and ${row.serial} was announced`
  if (row.lineage !== null && lineage !== row.lineage)
    return `The lineage of the state is ${lineage}, and ${row.lineage} was announced`
  return undefined
}

interface PackedPart {
  readonly stored: StoredState
  readonly blob: StoredBlob
}

/** Stores a part of a version compressed; undefined when the version is not pending any more. */
async function pack(
  context: GovernanceContext,
  row: StateVersionRow,
  { part, bytes }: { readonly part: StatePart; readonly bytes: Uint8Array },
): Promise<PackedPart | undefined> {
  const { id, organizationId, workspaceId } = row
  const packed = await promisify(gzip)(bytes)
  const blob = await storeBlob(
    context,
    { organizationId, workspaceId, ownerId: blobOwner(row, part) },
    { bytes: packed, isWanted: () => isKept(context, id) },
  )
  const stored = { bytes: bytes.length, storedBytes: packed.length }
  return blob === undefined ? undefined : { stored, blob }
}

function isKept({ store }: Pick<GovernanceContext, 'store'>, id: string): boolean {
  const row = store.tables.state_versions.find(id)
  return row !== undefined && row.status !== 'discarded'
}

/** A state that is written without a run is activity in the workspace. */
function activity(
  { store, clock }: GovernanceContext,
  { workspaceId, runId }: StateVersionRow,
): readonly Change[] {
  const workspace = store.tables.workspaces.find(workspaceId)
  if (workspace === undefined || runId !== null) return []
  const applied = { isDestroy: false, status: 'applied' } as const
  return [put('workspaces', afterApply(workspace, applied, clock.nowMs()))]
}

async function discard(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, problem }: { readonly stateId: string; readonly problem: string },
): Promise<Result<never, GovernanceRefusal>> {
  const before = findPending(context, stateId)
  if (!before.ok) return before
  const row: StateVersionRow = { ...before.value, status: 'discarded' }
  const changes = stateBlobsEnd(context.store.tables, row)
  await commitState(context, caller, row, { changes, blobs: [] })
  return err({ code: 'unprocessable', detail: problem })
}

/** Stores the documented JSON form of a state, before or after the state itself. */
export async function storeJsonState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, bytes }: StateBytes,
): Promise<Result<StateVersionRow, GovernanceRefusal>> {
  const owner = context.store.tables.state_versions.find(stateId)
  if (owner === undefined) return err(UNSEEN)
  const packed = await pack(context, owner, { part: 'jsonState', bytes })
  const before = context.store.tables.state_versions.find(stateId)
  if (before === undefined) return err(UNSEEN)
  if (packed === undefined) return err(GONE)
  const row: StateVersionRow = { ...before, jsonState: packed.stored }
  await commitState(context, caller, row, packed.blob)
  return ok(row)
}

async function commitState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: StateVersionRow,
  { changes, blobs }: StoredBlob,
): Promise<void> {
  await commitWrite(context, {
    action: 'StateVersionUploaded',
    caller,
    organizationId: row.organizationId,
    subjects: [row.id],
    changes: [put('state_versions', row), ...changes],
    blobs,
  })
}
