import { createHash } from 'node:crypto'
import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  type GovernanceRefusal,
  type StateVersionRow,
} from '../../model/index.ts'
import { put, remove, type Change } from '../../state/index.ts'
import { newUpload } from '../blobs.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'
import { lockProblem } from '../workspaces/workspace-locks.ts'
import {
  currentState,
  discardPendingStatesChanges,
  deleteStateBlobsChanges,
  stateVersionsOf,
  type VisibleState,
  readStatePart,
} from './state-versions.ts'
import { storeJsonState, storeState } from './store-state.ts'

type StateData = v2.StateVersionCreateRequest['data']

export interface CreatedState extends VisibleState {
  /** Keys of the upload URLs; undefined if the request contains the state. */
  readonly keys: { readonly state: string; readonly json: string } | undefined
}

/** Returns the workspace if the caller may write its state and holds its lock. */
export function findStateWriter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Result<VisibleWorkspace, GovernanceRefusal> {
  const address = { workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right: 'writeState' })
  if (!found.ok) return found
  const problem = lockProblem(context, caller, found.value)
  return problem === undefined ? found : err(problem)
}

/**
 * Creates a version, which is pending until its state is uploaded, unless the request contains the
 * state. Writers hold the lock of the workspace, so versions are sequential.
 */
export async function createState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, data }: { readonly workspaceId: string; readonly data: StateData },
): Promise<Result<CreatedState, GovernanceRefusal>> {
  const found = findStateWriter(context, caller, workspaceId)
  if (!found.ok) return found
  const { attributes } = data
  const inline = inlineStates(attributes)
  if (!inline.ok) return inline
  const write = toStateWrite(attributes)
  const isRun = found.value.workspace.lock?.byType === 'runs'
  const decision = decideWrite(currentState(context.store.tables, workspaceId), write, { isRun })
  if (decision.kind === 'refuse') return err({ code: 'conflict', detail: decision.detail })
  const { state: bytes, json } = inline.value
  const repeated = findSameState(context, workspaceId, write)
  if (repeated !== undefined && bytes === undefined)
    return await renewUploads(context, caller, { visible: found.value, row: repeated })
  const runId = data.relationships?.run?.data?.id
  const created = newStateRow(context, caller, { visible: found.value, write, runId })
  const row = { ...created.row, intermediate: isRun && attributes.intermediate === true }
  await commitNewState(context, caller, { ...created, row })
  if (bytes === undefined) return ok({ ...found.value, state: row, keys: created.keys })
  const stored = await storeState(context, caller, { stateId: row.id, bytes })
  if (!stored.ok || json === undefined) return withoutKeys(found.value, stored)
  const withJson = await storeJsonState(context, caller, { stateId: row.id, bytes: json })
  return withoutKeys(found.value, withJson)
}

function withoutKeys(
  visible: VisibleWorkspace,
  stored: Result<StateVersionRow, GovernanceRefusal>,
): Result<CreatedState, GovernanceRefusal> {
  return stored.ok ? ok({ ...visible, state: stored.value, keys: undefined }) : stored
}

function toStateWrite(attributes: StateData['attributes']): StateWrite {
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
  const state = decodeBase64(attributes.state)
  if (state === null) return err(invalidAttribute('/data/attributes/state', 'State is not base64'))
  const json = decodeBase64(attributes['json-state'])
  if (json === null)
    return err(invalidAttribute('/data/attributes/json-state', 'JSON state is not base64'))
  return ok({ state, json })
}

/** Returns null for text that is not base64. */
function decodeBase64(text: string | undefined): Uint8Array | undefined | null {
  if (text === undefined || text === '') return undefined
  try {
    return Uint8Array.fromBase64(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return null
    throw thrown
  }
}

/** Returns the current or a pending version with the same serial and content. */
function findSameState(
  { store, clock }: GovernanceContext,
  workspaceId: string,
  { serial, md5, lineage }: StateWrite,
): StateVersionRow | undefined {
  const current = currentState(store.tables, workspaceId)
  const pending = stateVersionsOf(store.tables, workspaceId, 'pending').filter(
    ({ upload }) => upload !== null && upload.expiresMs > clock.nowMs(),
  )
  return [...(current === undefined ? [] : [current]), ...pending].find(
    (row) =>
      row.serial === serial &&
      row.md5 === md5 &&
      (lineage === null || row.lineage === null || row.lineage === lineage),
  )
}

interface PendingState {
  readonly visible: VisibleWorkspace
  readonly row: StateVersionRow
}

/** Issues new upload keys for a repeated create, because keys are not stored. */
async function renewUploads(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible, row: before }: PendingState,
): Promise<Result<CreatedState, GovernanceRefusal>> {
  const { keys, uploads } = newUploads(context, caller)
  const row = { ...before, ...uploads }
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id],
    changes: [put('state_versions', row)],
  })
  return ok({ ...visible, state: row, keys })
}

function newUploads(context: GovernanceContext, caller: GovernanceCaller) {
  const state = newUpload(context, caller)
  const json = newUpload(context, caller)
  return {
    keys: { state: state.key, json: json.key },
    uploads: { upload: state.upload, jsonUpload: json.upload },
  }
}

interface NewStateInput {
  readonly visible: Pick<VisibleWorkspace, 'workspace'>
  readonly write: Omit<StateWrite, 'force'>
  readonly runId?: string | undefined
}

/** Returns a version that waits for its state. */
export function newStateRow(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible: { workspace }, write, runId }: NewStateInput,
) {
  const { organizationId, id: workspaceId } = workspace
  const { keys, uploads } = newUploads(context, caller)
  const run = runId === undefined ? undefined : context.store.tables.runs.find(runId)
  const row: StateVersionRow = {
    id: newId(context.ids, 'state-versions'),
    organizationId,
    workspaceId,
    status: 'pending',
    serial: write.serial,
    lineage: write.lineage,
    md5: write.md5,
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
export async function commitNewState(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { row }: { readonly row: StateVersionRow },
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id],
    changes: [put('state_versions', row), ...pruneStatesChanges(context, row.workspaceId)],
  })
}

function pruneStatesChanges({ store }: GovernanceContext, workspaceId: string): readonly Change[] {
  const { tables } = store
  const current = currentState(tables, workspaceId)?.id
  const surplus = stateVersionsOf(tables, workspaceId)
    .slice(v2.STATE_VERSIONS_KEPT_MAX - 1)
    .filter(({ id }) => id !== current)
  return [
    ...discardPendingStatesChanges(tables, workspaceId),
    ...surplus.flatMap((row) => [
      ...deleteStateBlobsChanges(tables, row),
      remove('state_versions', row.id),
    ]),
  ]
}

interface RollbackRequest {
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

/** A state to be written. */
interface StateWrite {
  readonly serial: number
  readonly md5: string
  readonly lineage: string | null
  readonly force: boolean
}

type WriteDecision =
  | { readonly kind: 'write' }
  /** The same state again, after a lost response. */
  | { readonly kind: 'repeat' }
  | { readonly kind: 'refuse'; readonly detail: string }

/**
 * Decides whether a state may replace the current one. A lower serial is accepted from users: the
 * command-line tools push an older state without a flag in the request. It is rejected from runs,
 * because another attempt has written a newer state.
 */
export function decideWrite(
  latest: Pick<StateVersionRow, 'id' | 'serial' | 'md5' | 'lineage'> | undefined,
  write: StateWrite,
  { isRun }: { readonly isRun: boolean },
): WriteDecision {
  if (latest === undefined) return { kind: 'write' }
  const { serial, md5, lineage, force } = write
  const isSameLineage = lineage === null || latest.lineage === null || lineage === latest.lineage
  if (isSameLineage && serial === latest.serial && md5 === latest.md5) return { kind: 'repeat' }
  if (force && !isRun) return { kind: 'write' }
  if (!isSameLineage)
    return rejectWrite(
      `The lineage ${lineage} is not that of the current state, ${latest.lineage}: ` +
        'the state belongs to other infrastructure; push it with force to replace the current one',
    )
  if (serial === latest.serial)
    return rejectWrite(
      `The current state ${latest.id} has the serial ${serial} and another content; ` +
        'read it again before you write',
    )
  if (isRun && serial < latest.serial)
    return rejectWrite(
      `The serial ${serial} is lower than that of the current state, ${latest.serial}`,
    )
  return { kind: 'write' }
}

function rejectWrite(detail: string): WriteDecision {
  return { kind: 'refuse', detail }
}
