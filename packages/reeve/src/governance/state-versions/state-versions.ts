import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { v2 } from '@reeve/contract'
import { parseExactJson } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type StateVersionRow,
  type StoredState,
} from '../../model/index.ts'
import {
  compareCreation,
  put,
  type Change,
  type IndexName,
  type Tables,
} from '../../state/index.ts'
import { deleteBlobChanges, readBlob } from '../blobs.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { idSuffixOf } from '../ids.ts'
import type { WorkspaceRight } from '../permissions.ts'
import {
  findWorkspaceWith,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from '../workspaces/find-workspace.ts'
import type { StateDigest, StateOutput } from './inspect-state.ts'

export interface VisibleState extends VisibleWorkspace {
  readonly state: StateVersionRow
}

/** Blobs of a state version; the name is the suffix of their owner ID. */
export type StatePart = 'state' | 'jsonState' | 'digest'

/** Returns the state versions of a workspace, newest first. */
export function stateVersionsOf(
  { state_versions: versions }: Tables,
  workspaceId: string,
  index: 'workspace' | 'finalized' | 'pending' = 'workspace',
): readonly StateVersionRow[] {
  return newestIds({ state_versions: versions }, index, workspaceId).map((id) => versions.get(id))
}

/** Returns the newest IDs without decoding rows. */
function newestIds(
  { state_versions: versions }: Pick<Tables, 'state_versions'>,
  index: IndexName<'state_versions'>,
  indexKey: string,
): readonly string[] {
  return [...versions.keysByIndex(index, indexKey)]
    .map((key) => ({ key, createIndex: versions.createIndexOf(key) ?? 0 }))
    .toSorted((a, b) => compareCreation(b, a))
    .map(({ key }) => key)
}

/** Returns the current state version of a workspace. */
export function currentState(tables: Tables, workspaceId: string): StateVersionRow | undefined {
  const [id] = newestIds(tables, 'finalized', workspaceId)
  return id === undefined ? undefined : tables.state_versions.get(id)
}

/** Reports whether an announced state has not been uploaded yet. */
export function hasPendingState(
  { store, clock }: Pick<GovernanceContext, 'store' | 'clock'>,
  workspaceId: string,
): boolean {
  return stateVersionsOf(store.tables, workspaceId, 'pending').some(
    ({ upload }) => upload === null || upload.expiresMs > clock.nowMs(),
  )
}

/** Returns the status; a version without an upload is discarded when its URL expires. */
export function publicStatus(
  { status, upload }: StateVersionRow,
  nowMs: number,
): StateVersionRow['status'] {
  return status === 'pending' && upload !== null && upload.expiresMs <= nowMs ? 'discarded' : status
}

export function findState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stateId, right }: { readonly stateId: string; readonly right: WorkspaceRight },
): Result<VisibleState, GovernanceRefusal> {
  const state = context.store.tables.state_versions.find(stateId)
  if (state === undefined) return err(NOT_FOUND)
  const address = { workspaceId: state.workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right })
  return found.ok ? ok({ ...found.value, state }) : found
}

export function findCurrentState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, right }: { readonly workspaceId: string; readonly right: WorkspaceRight },
): Result<VisibleState, GovernanceRefusal> {
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right })
  if (!found.ok) return found
  const state = currentState(context.store.tables, workspaceId)
  return state === undefined ? err(NOT_FOUND) : ok({ ...found.value, state })
}

interface StateSearch {
  readonly address: WorkspaceAddress
  readonly status?: v2.StateVersion['attributes']['status'] | undefined
  readonly offset: number
  readonly limit: number
}

export function listStates(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { address, status, offset, limit }: StateSearch,
): Result<{ readonly states: readonly VisibleState[]; readonly total: number }, GovernanceRefusal> {
  const found = findWorkspaceWith(context, caller, { address, right: 'readState' })
  if (!found.ok) return found
  const nowMs = context.clock.nowMs()
  const all = stateVersionsOf(context.store.tables, found.value.workspace.id).filter(
    (row) => status === undefined || publicStatus(row, nowMs) === status,
  )
  const states = all.slice(offset, offset + limit).map((state) => ({ ...found.value, state }))
  return ok({ states, total: all.length })
}

export function blobOwnerId({ id }: Pick<StateVersionRow, 'id'>, part: StatePart): string {
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
  const blob = { ownerId: blobOwnerId(state, part), length: stored.storedBytes }
  const compressed = await readBlob(context, blob)
  return compressed === undefined ? undefined : await promisify(gunzip)(compressed)
}

/** Discards versions whose upload was abandoned. */
export function discardPendingStatesChanges(
  tables: Tables,
  workspaceId: string,
): readonly Change[] {
  return stateVersionsOf(tables, workspaceId, 'pending').flatMap((row) => [
    ...deleteStateBlobsChanges(tables, row),
    put('state_versions', { ...row, status: 'discarded' }),
  ])
}

/** Deletes the blobs of a version. */
export function deleteStateBlobsChanges(tables: Tables, state: Pick<StateVersionRow, 'id'>) {
  const parts: readonly StatePart[] = ['state', 'jsonState', 'digest']
  return parts.flatMap((part) => deleteBlobChanges(tables, blobOwnerId(state, part)))
}

/** An output with its ID, which contains the version and the position in it. */
export interface VisibleOutput extends StateOutput {
  readonly id: string
}

const EMPTY_DIGEST: StateDigest = { outputs: [], resources: [] }

/** Returns the parts of a state that were stored when it was uploaded. */
export async function readDigest(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  state: StateVersionRow,
): Promise<StateDigest> {
  const bytes = await readStatePart(context, state, 'digest')
  if (bytes === undefined) return EMPTY_DIGEST
  // Written by storeState.
  return parseExactJson(new TextDecoder().decode(bytes)) as StateDigest
}

export async function listStateOutputs(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  state: StateVersionRow,
): Promise<readonly VisibleOutput[]> {
  const { outputs } = await readDigest(context, state)
  return outputs.map((output, index) => ({ ...output, id: outputId(state, index) }))
}

function outputId({ id }: StateVersionRow, index: number): string {
  return `wsout-${idSuffixOf(id)}-${index}`
}

export async function findOutput(
  context: GovernanceContext,
  caller: GovernanceCaller,
  outputIdText: string,
): Promise<Result<VisibleOutput, GovernanceRefusal>> {
  const [, suffix] = /^wsout-([^-]+)-\d+$/.exec(outputIdText) ?? []
  const found = findState(context, caller, { stateId: `sv-${suffix}`, right: 'readOutputs' })
  if (!found.ok) return found
  const outputs = await listStateOutputs(context, found.value.state)
  const output = outputs.find(({ id }) => id === outputIdText)
  return output === undefined ? err(NOT_FOUND) : ok(output)
}
