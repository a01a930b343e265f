import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalid, type GovernanceRefusal, type StateVersionRow } from '../../model/index.ts'
import { put, remove, type Change } from '../../state/index.ts'
import { newUpload } from '../blobs/pending-uploads.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findWorkspaceWith, type SeenWorkspace } from '../workspaces/find-workspace.ts'
import { lockProblem } from '../workspaces/workspace-locks.ts'
import {
  currentState,
  pendingStatesEnd,
  stateBlobsEnd,
  statesOf,
  type SeenState,
} from './state-versions.ts'
import { storeJsonState, storeState } from './store-state.ts'
import { decideWrite, type StateWish } from './write-rules.ts'

type StateData = v2.StateVersionCreateRequest['data']

export interface NewState extends SeenState {
  /** Keys of the upload URLs; undefined if the request contains the state. */
  readonly keys: { readonly state: string; readonly json: string } | undefined
}

/** Returns the workspace if the caller may write its state and holds its lock. */
export function findStateWriter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Result<SeenWorkspace, GovernanceRefusal> {
  const address = { workspaceId }
  const seen = findWorkspaceWith(context, caller, { address, right: 'writeState' })
  if (!seen.ok) return seen
  const problem = lockProblem(context, caller, seen.value)
  return problem === undefined ? seen : err(problem)
}

/**
 * Creates a version, which is pending until its state is uploaded, unless the request contains the
 * state. Writers hold the lock of the workspace, so versions are sequential.
 */
export async function createState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, data }: { readonly workspaceId: string; readonly data: StateData },
): Promise<Result<NewState, GovernanceRefusal>> {
  const seen = findStateWriter(context, caller, workspaceId)
  if (!seen.ok) return seen
  const { attributes } = data
  const inline = inlineStates(attributes)
  if (!inline.ok) return inline
  const wish = wishOf(attributes)
  const isRun = seen.value.workspace.lock?.byType === 'runs'
  const decision = decideWrite(currentState(context.store.tables, workspaceId), wish, { isRun })
  if (decision.kind === 'refuse') return err({ code: 'conflict', detail: decision.detail })
  const { state: bytes, json } = inline.value
  const known = findRepeated(context, workspaceId, wish)
  if (known !== undefined && bytes === undefined)
    return await announceAgain(context, caller, { seen: seen.value, row: known })
  const runId = data.relationships?.run?.data?.id
  const made = newState(context, caller, { seen: seen.value, wish, runId })
  const row = { ...made.row, intermediate: isRun && attributes.intermediate === true }
  await commitNew(context, caller, { ...made, row })
  if (bytes === undefined) return ok({ ...seen.value, state: row, keys: made.keys })
  const stored = await storeState(context, caller, { stateId: row.id, bytes })
  if (!stored.ok || json === undefined) return withoutKeys(seen.value, stored)
  const both = await storeJsonState(context, caller, { stateId: row.id, bytes: json })
  return withoutKeys(seen.value, both)
}

function withoutKeys(
  seen: SeenWorkspace,
  stored: Result<StateVersionRow, GovernanceRefusal>,
): Result<NewState, GovernanceRefusal> {
  return stored.ok ? ok({ ...seen, state: stored.value, keys: undefined }) : stored
}

function wishOf(attributes: StateData['attributes']): StateWish {
  const { serial, md5, lineage, force = false } = attributes
  return { serial, md5: md5.toLowerCase(), lineage: lineage || null, force }
}

interface InlineStates {
  readonly state: Uint8Array | undefined
  readonly json: Uint8Array | undefined
}

function inlineStates(
  attributes: StateData['attributes'],
): Result<InlineStates, GovernanceRefusal> {
  const state = decoded(attributes.state)
  if (state === null) return err(invalid('/data/attributes/state', 'State is not base64'))
  const json = decoded(attributes['json-state'])
  if (json === null) return err(invalid('/data/attributes/json-state', 'JSON state is not base64'))
  return ok({ state, json })
}

/** Returns null for text that is not base64. */
function decoded(text: string | undefined): Uint8Array | undefined | null {
  if (text === undefined || text === '') return undefined
  try {
    return Uint8Array.fromBase64(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return null
    throw thrown
  }
}

/** Returns the current or a pending version with the same serial and content. */
function findRepeated(
  { store, clock }: GovernanceContext,
  workspaceId: string,
  { serial, md5, lineage }: StateWish,
): StateVersionRow | undefined {
  const current = currentState(store.tables, workspaceId)
  const pending = statesOf(store.tables, workspaceId, 'pending').filter(
    ({ upload }) => upload !== null && upload.expiresMs > clock.nowMs(),
  )
  return [...(current === undefined ? [] : [current]), ...pending].find(
    (row) =>
      row.serial === serial &&
      row.md5 === md5 &&
      (lineage === null || row.lineage === null || row.lineage === lineage),
  )
}

interface SeenRow {
  readonly seen: SeenWorkspace
  readonly row: StateVersionRow
}

/** Issues new upload keys for a repeated create, because keys are not stored. */
async function announceAgain(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen, row: before }: SeenRow,
): Promise<Result<NewState, GovernanceRefusal>> {
  const { keys, uploads } = newUploads(context, caller)
  const row = { ...before, ...uploads }
  await commitWrite(context, {
    action: 'StateVersionCreated',
    caller,
    organizationId: row.organizationId,
    subjects: [row.id],
    changes: [put('state_versions', row)],
  })
  return ok({ ...seen, state: row, keys })
}

function newUploads(context: GovernanceContext, caller: GovernanceCaller) {
  const state = newUpload(context, caller)
  const json = newUpload(context, caller)
  return {
    keys: { state: state.key, json: json.key },
    uploads: { upload: state.upload, jsonUpload: json.upload },
  }
}

interface StateSource {
  readonly seen: Pick<SeenWorkspace, 'workspace'>
  readonly wish: Omit<StateWish, 'force'>
  readonly runId?: string | undefined
}

/** Returns a version that waits for its state. */
export function newState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen: { workspace }, wish, runId }: StateSource,
) {
  const { organizationId, id: workspaceId } = workspace
  const { keys, uploads } = newUploads(context, caller)
  const run = runId === undefined ? undefined : context.store.tables.runs.find(runId)
  const row: StateVersionRow = {
    id: newId(context.ids, 'state-versions'),
    organizationId,
    workspaceId,
    status: 'pending',
    serial: wish.serial,
    lineage: wish.lineage,
    md5: wish.md5,
    ...uploads,
    state: null,
    jsonState: null,
    digest: null,
    format: null,
    toolVersion: null,
    resourceCount: 0,
    intermediate: false,
    // A run of another workspace is ignored.
    runId: run?.workspaceId === workspaceId ? run.id : null,
    rollbackOfId: null,
    createdMs: context.clock.nowMs(),
    createdById: caller.userId,
    createdByName: callerName(context, caller),
  }
  return { row, keys }
}

/** Commits a pending version; abandoned and the oldest versions are deleted to make room. */
export async function commitNew(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { row }: { readonly row: StateVersionRow },
): Promise<void> {
  await commitWrite(context, {
    action: 'StateVersionCreated',
    caller,
    organizationId: row.organizationId,
    subjects: [row.id],
    changes: [put('state_versions', row), ...makeRoom(context, row.workspaceId)],
  })
}

function makeRoom({ store }: GovernanceContext, workspaceId: string): readonly Change[] {
  const { tables } = store
  const current = currentState(tables, workspaceId)?.id
  const surplus = statesOf(tables, workspaceId)
    .slice(v2.STATE_VERSIONS_KEPT_MAX - 1)
    .filter(({ id }) => id !== current)
  return [
    ...pendingStatesEnd(tables, workspaceId),
    ...surplus.flatMap((row) => [...stateBlobsEnd(tables, row), remove('state_versions', row.id)]),
  ]
}
