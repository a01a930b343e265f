import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type GovernanceRefusal,
  type StateVersionRow,
  type StoredState,
} from '../../model/index.ts'
import { compareCreation, put, type Change, type Tables } from '../../state/index.ts'
import { blobEnd, readBlob } from '../blobs/sealed-blobs.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import type { WorkspaceRight } from '../permissions.ts'
import {
  findWorkspaceWith,
  type SeenWorkspace,
  type WorkspaceAddress,
} from '../workspaces/find-workspace.ts'

export interface SeenState extends SeenWorkspace {
  readonly state: StateVersionRow
}

/** Blobs of a state version; the name is the suffix of their owner ID. */
export type StatePart = 'state' | 'jsonState' | 'digest'

/** Returns the state versions of a workspace, newest first. */
export function statesOf(
  { state_versions: versions }: Tables,
  workspaceId: string,
  group: 'workspace' | 'finalized' | 'pending' = 'workspace',
): readonly StateVersionRow[] {
  return newest({ state_versions: versions }, group, workspaceId).map((id) => versions.get(id))
}

/** Returns the newest IDs without decoding rows. */
function newest(
  { state_versions: versions }: Pick<Tables, 'state_versions'>,
  group: string,
  value: string,
): readonly string[] {
  return [...versions.keysIn(group, value)]
    .map((key) => ({ key, createIndex: versions.createIndexOf(key) ?? 0 }))
    .toSorted((a, b) => compareCreation(b, a))
    .map(({ key }) => key)
}

/** Returns the current state version of a workspace. */
export function currentState(tables: Tables, workspaceId: string): StateVersionRow | undefined {
  const [id] = newest(tables, 'finalized', workspaceId)
  return id === undefined ? undefined : tables.state_versions.get(id)
}

/** Reports whether an announced state has not been uploaded yet. */
export function hasPendingState(
  { store, clock }: Pick<GovernanceContext, 'store' | 'clock'>,
  workspaceId: string,
): boolean {
  return statesOf(store.tables, workspaceId, 'pending').some(
    ({ upload }) => upload === null || upload.expiresMs > clock.nowMs(),
  )
}

/** Returns the status; a version without an upload is discarded when its URL expires. */
export function shownStatus(
  { status, upload }: StateVersionRow,
  nowMs: number,
): StateVersionRow['status'] {
  return status === 'pending' && upload !== null && upload.expiresMs <= nowMs ? 'discarded' : status
}

export function findState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, right }: { readonly stateId: string; readonly right: WorkspaceRight },
): Result<SeenState, GovernanceRefusal> {
  const state = context.store.tables.state_versions.find(stateId)
  if (state === undefined) return err(UNSEEN)
  const address = { workspaceId: state.workspaceId }
  const seen = findWorkspaceWith(context, caller, { address, right })
  return seen.ok ? ok({ ...seen.value, state }) : seen
}

export function findCurrentState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, right }: { readonly workspaceId: string; readonly right: WorkspaceRight },
): Result<SeenState, GovernanceRefusal> {
  const seen = findWorkspaceWith(context, caller, { address: { workspaceId }, right })
  if (!seen.ok) return seen
  const state = currentState(context.store.tables, workspaceId)
  return state === undefined ? err(UNSEEN) : ok({ ...seen.value, state })
}

export interface StateSearch {
  readonly address: WorkspaceAddress
  readonly status?: v2.StateVersion['attributes']['status'] | undefined
  readonly skip: number
  readonly take: number
}

export function listStates(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { address, status, skip, take }: StateSearch,
): Result<{ readonly states: readonly SeenState[]; readonly total: number }, GovernanceRefusal> {
  const seen = findWorkspaceWith(context, caller, { address, right: 'readState' })
  if (!seen.ok) return seen
  const nowMs = context.clock.nowMs()
  const all = statesOf(context.store.tables, seen.value.workspace.id).filter(
    (row) => status === undefined || shownStatus(row, nowMs) === status,
  )
  const states = all.slice(skip, skip + take).map((state) => ({ ...seen.value, state }))
  return ok({ states, total: all.length })
}

export function blobOwner({ id }: Pick<StateVersionRow, 'id'>, part: StatePart): string {
  return `${id}/${part}`
}

/** Returns the bytes as uploaded; undefined if there are none or they were deleted. */
export async function readStatePart(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  state: StateVersionRow,
  part: StatePart,
): Promise<Uint8Array | undefined> {
  const stored: StoredState | null = state[part]
  if (stored === null) return undefined
  const wanted = { ownerId: blobOwner(state, part), length: stored.storedBytes }
  const packed = await readBlob(context, wanted)
  return packed === undefined ? undefined : await promisify(gunzip)(packed)
}

/** Discards versions whose upload was abandoned. */
export function pendingStatesEnd(tables: Tables, workspaceId: string): readonly Change[] {
  return statesOf(tables, workspaceId, 'pending').flatMap((row) => [
    ...stateBlobsEnd(tables, row),
    put('state_versions', { ...row, status: 'discarded' }),
  ])
}

/** Deletes the blobs of a version. */
export function stateBlobsEnd(tables: Tables, state: Pick<StateVersionRow, 'id'>) {
  const parts: readonly StatePart[] = ['state', 'jsonState', 'digest']
  return parts.flatMap((part) => blobEnd(tables, blobOwner(state, part)))
}
