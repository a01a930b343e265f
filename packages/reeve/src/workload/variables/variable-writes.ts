import type { VariableLock, VariableRequest } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import {
  LIMITS,
  lockState,
  lockTimes,
  lockTtlMs,
  PERMISSION_DENIED,
  refusal,
  variablePathProblem,
  type LockState,
  type Refusal,
  type VariableRow,
} from '../../model/index.ts'
import {
  namespacedKey,
  put,
  remove,
  type Author,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { textMap } from '../text-map.ts'
import { sealItems } from './variable-items.ts'

export const VARIABLE_NOT_FOUND: Refusal = refusal('variable-not-found', 'variable not found')

/** Operation on the lock of a variable; none unless given. */
export type LockOperation = 'acquire' | 'renew' | 'release'

/** A variable, with the precondition of the write. */
export interface VariableTarget {
  readonly namespace: string
  readonly path: string
  /** Expected `ModifyIndex`; 0 requires that the variable does not exist. */
  readonly cas: number | undefined
}

export interface VariableWrite extends VariableTarget {
  readonly body: VariableRequest
  readonly lock: LockOperation | undefined
}

/** The current row, whether it was written or conflicts with the write. */
export interface VariableOutcome {
  readonly kind: 'done' | 'conflict'
  readonly row: VariableRow | undefined
  readonly index: number
}

/** Creates or changes a variable, or changes its lock. */
export async function writeVariable(
  context: WorkloadContext,
  caller: RequestCaller,
  request: VariableWrite,
): Promise<Result<VariableOutcome, Refusal>> {
  const { namespace, path, lock } = request
  const refused = targetRefusal(context, request)
  if (refused !== undefined) return err(refused)
  if (!caller.grants.variable(namespace, path, 'write')) return err(PERMISSION_DENIED)
  if (lock === 'renew' || lock === 'release') return touchLock(context, caller, request)
  const items = itemsOf(request)
  if (!items.ok) return err(refusal('invalid-input', items.error))
  const times = lock === 'acquire' ? lockTimes(request.body.Lock ?? {}) : ok(undefined)
  if (!times.ok) return err(refusal('invalid-input', times.error))
  const present = presentOf(context, request)
  if (isConflict(request, present)) return ok(await conflict(context, present.row))
  const held = present.row?.Lock ?? null
  const isHeld = present.lock.kind === 'held'
  const taken = times.value && { ID: heldId(present.lock) ?? context.ids.uuid(), ...times.value }
  return ok(
    await commitVariable(context, caller, request, (stamp) => {
      const Lock = taken ?? (isHeld ? held : null)
      const row = { ...changedRow(context, request, { items: items.value, stamp }), Lock }
      return [put('variables', row), ...lockRows(row, taken, stamp)]
    }),
  )
}

/** Deletes a variable; idempotent. */
export async function deleteVariable(
  context: WorkloadContext,
  caller: RequestCaller,
  request: VariableTarget,
): Promise<Result<VariableOutcome, Refusal>> {
  const { namespace, path } = request
  if (!caller.grants.variable(namespace, path, 'destroy')) return err(PERMISSION_DENIED)
  const present = presentOf(context, request)
  const isLocked = present.lock.kind === 'held'
  const isOther = request.cas !== undefined && request.cas !== (present.row?.ModifyIndex ?? 0)
  if (isLocked || isOther) return ok(await conflict(context, present.row))
  const key = namespacedKey(namespace, path)
  const { index, durable } = context.store.commit({
    by: caller.by,
    cause: 'VariableUpdated',
    changes: () => (present.row === undefined ? [] : [remove('variables', key)]),
  })
  await durable
  return ok({ kind: 'done', row: undefined, index })
}

interface Present {
  readonly row: VariableRow | undefined
  readonly lock: LockState
}

function presentOf({ store, clock }: WorkloadContext, target: VariableTarget): Present {
  const key = namespacedKey(target.namespace, target.path)
  const row = store.tables.variables.find(key)
  const held = store.tables.variable_locks.find(key)
  return { row, lock: lockState(row ?? { Lock: null }, held, clock.nowMs()) }
}

function heldId(lock: LockState): string | undefined {
  return lock.kind === 'held' ? lock.id : undefined
}

/** Reports whether the write conflicts: another caller has the lock, or `cas` does not match. */
function isConflict({ cas, body, lock }: VariableWrite, present: Present): boolean {
  if (cas !== undefined && cas !== (present.row?.ModifyIndex ?? 0)) return true
  if (present.lock.kind === 'held') return present.lock.id !== body.Lock?.ID
  return lock === 'acquire' && present.lock.kind === 'resting'
}

async function conflict(
  { store }: WorkloadContext,
  row: VariableRow | undefined,
): Promise<VariableOutcome> {
  const { index } = store
  await store.settled()
  return { kind: 'conflict', row, index }
}

/** Renews or releases a lock. */
async function touchLock(
  context: WorkloadContext,
  caller: RequestCaller,
  request: VariableWrite,
): Promise<Result<VariableOutcome, Refusal>> {
  const { row, lock } = presentOf(context, request)
  if (row === undefined) return err(VARIABLE_NOT_FOUND)
  const isHolder = lock.kind === 'held' && lock.id === request.body.Lock?.ID
  if (!isHolder || row.Lock === null) return ok(await conflict(context, row))
  const { Lock } = row
  return ok(
    await commitVariable(context, caller, request, (stamp) => {
      if (request.lock === 'renew') return lockRows(row, Lock, stamp)
      const next = { ...row, Lock: null, ...timesOf(row, stamp) }
      const key = namespacedKey(row.Namespace, row.Path)
      return [put('variables', next), remove('variable_locks', key)]
    }),
  )
}

async function commitVariable(
  { store }: WorkloadContext,
  { by }: Author,
  { namespace, path }: VariableTarget,
  changes: (stamp: Stamp) => readonly Change[],
): Promise<VariableOutcome> {
  const { index, durable } = store.commit({ by, cause: 'VariableUpdated', changes })
  const row = store.tables.variables.find(namespacedKey(namespace, path))
  await durable
  return { kind: 'done', row, index }
}

function lockRows(
  { Namespace, Path }: VariableRow,
  lock: VariableLock | undefined,
  { timeMs }: Stamp,
): Change[] {
  if (lock === undefined) return []
  const times = { UntilMs: timeMs + lockTtlMs(lock), CreateIndex: 0, ModifyIndex: 0 }
  return [put('variable_locks', { Namespace, Path, LockID: lock.ID, ...times })]
}

function timesOf(before: VariableRow | undefined, { timeMs }: Stamp) {
  const now = nsFromMs(timeMs)
  return { CreateTime: before?.CreateTime ?? now, ModifyTime: now }
}

function changedRow(
  context: WorkloadContext,
  request: VariableWrite,
  {
    items,
    stamp,
  }: { readonly items: Readonly<Record<string, string>> | undefined; readonly stamp: Stamp },
): Omit<VariableRow, 'Lock'> {
  const { namespace: Namespace, path: Path } = request
  const before = context.store.tables.variables.find(namespacedKey(Namespace, Path))
  const kept = items === undefined ? before?.SealedItems : undefined
  return {
    Namespace,
    Path,
    SealedItems: kept ?? sealItems(context.sealer, items ?? {}),
    CreateIndex: 0,
    ModifyIndex: 0,
    ...timesOf(before, stamp),
  }
}

/** Returns the items to store; undefined if a lock is acquired and they are unchanged. */
function itemsOf({
  body,
  lock,
}: VariableWrite): Result<Readonly<Record<string, string>> | undefined, string> {
  const items = textMap(body.Items)
  if (items === null)
    return lock === undefined ? err('variable missing required Items object') : ok(undefined)
  const entries = Object.entries(items)
  if (entries.length === 0 && lock === undefined) return err('empty variables are invalid')
  const bytes = entries.reduce(
    (sum, [key, value]) => sum + encodeUtf8(key).length + encodeUtf8(value).length,
    0,
  )
  const { variableItemsBytesMax: max } = LIMITS
  return bytes > max ? err(`variables are limited to ${max / 1024}KiB in total size`) : ok(items)
}

function targetRefusal({ store }: WorkloadContext, request: VariableWrite): Refusal | undefined {
  const { namespace, path, body } = request
  const given = body.Path ?? ''
  const problem =
    given !== '' && given !== path
      ? `variable path "${given.slice(0, 128)}" does not match the path of the request`
      : variablePathProblem(path)
  if (problem !== undefined) return refusal('invalid-input', problem)
  return store.tables.namespaces.has(namespace)
    ? undefined
    : refusal('unknown-namespace', `variable is in nonexistent namespace "${namespace}"`)
}
