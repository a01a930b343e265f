import type { VariableLock, VariableRequest } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import {
  LIMITS,
  lockState,
  parseLockTimes,
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
import type { RequestCaller, Sealer, WorkloadContext } from '../context.ts'
import { stringMap } from '../text-map.ts'

export const VARIABLE_NOT_FOUND: Refusal = refusal('variable-not-found', 'variable not found')

/** Operation on the lock of a variable; none unless given. */
export type LockOperation = 'acquire' | 'renew' | 'release'

/** A variable, with the precondition of the write. */
interface VariableTarget {
  readonly namespace: string
  readonly path: string
  /** Expected `ModifyIndex`; 0 requires that the variable does not exist. */
  readonly cas: number | undefined
}

interface VariableWrite extends VariableTarget {
  readonly body: VariableRequest
  readonly lock: LockOperation | undefined
}

/** The current row, whether it was written or conflicts with the write. */
interface VariableWriteResult {
  readonly kind: 'done' | 'conflict'
  readonly row: VariableRow | undefined
  readonly index: number
}

/** Creates or changes a variable, or changes its lock. */
export async function writeVariable(
  context: WorkloadContext,
  caller: RequestCaller,
  request: VariableWrite,
): Promise<Result<VariableWriteResult, Refusal>> {
  const { namespace, path, lock } = request
  const refused = validateTarget(context, request)
  if (refused !== undefined) return err(refused)
  if (!caller.grants.variable(namespace, path, 'write')) return err(PERMISSION_DENIED)
  if (lock === 'renew' || lock === 'release') return renewOrReleaseLock(context, caller, request)
  const items = parseItems(request)
  if (!items.ok) return err(refusal('invalid-input', items.error))
  const times = lock === 'acquire' ? parseLockTimes(request.body.Lock ?? {}) : ok(undefined)
  if (!times.ok) return err(refusal('invalid-input', times.error))
  const current = currentVariable(context, request)
  if (conflictsWith(request, current)) return ok(await conflictResult(context, current.row))
  const currentLock = current.row?.Lock ?? null
  const isHeld = current.lock.kind === 'held'
  const acquiredLock = times.value && {
    ID: heldLockId(current.lock) ?? context.ids.uuid(),
    ...times.value,
  }
  return ok(
    await commitVariable(context, caller, request, (stamp) => {
      const Lock = acquiredLock ?? (isHeld ? currentLock : null)
      const row = { ...updatedRow(context, request, { items: items.value, stamp }), Lock }
      return [put('variables', row), ...lockRows(row, acquiredLock, stamp)]
    }),
  )
}

/** Deletes a variable; idempotent. */
export async function deleteVariable(
  context: WorkloadContext,
  caller: RequestCaller,
  request: VariableTarget,
): Promise<Result<VariableWriteResult, Refusal>> {
  const { namespace, path } = request
  if (!caller.grants.variable(namespace, path, 'destroy')) return err(PERMISSION_DENIED)
  const current = currentVariable(context, request)
  const isLocked = current.lock.kind === 'held'
  const hasOtherIndex = request.cas !== undefined && request.cas !== (current.row?.ModifyIndex ?? 0)
  if (isLocked || hasOtherIndex) return ok(await conflictResult(context, current.row))
  const key = namespacedKey(namespace, path)
  const { index, durable } = context.store.commit({
    by: caller.by,
    cause: 'VariableUpdated',
    changes: () => (current.row === undefined ? [] : [remove('variables', key)]),
  })
  await durable
  return ok({ kind: 'done', row: undefined, index })
}

interface CurrentVariable {
  readonly row: VariableRow | undefined
  readonly lock: LockState
}

function currentVariable(
  { store, clock }: WorkloadContext,
  target: VariableTarget,
): CurrentVariable {
  const key = namespacedKey(target.namespace, target.path)
  const row = store.tables.variables.find(key)
  const held = store.tables.variable_locks.find(key)
  return { row, lock: lockState(row ?? { Lock: null }, held, clock.nowMs()) }
}

function heldLockId(lock: LockState): string | undefined {
  return lock.kind === 'held' ? lock.id : undefined
}

/** Reports whether the write conflicts: another caller has the lock, or `cas` does not match. */
function conflictsWith({ cas, body, lock }: VariableWrite, current: CurrentVariable): boolean {
  if (cas !== undefined && cas !== (current.row?.ModifyIndex ?? 0)) return true
  if (current.lock.kind === 'held') return current.lock.id !== body.Lock?.ID
  return lock === 'acquire' && current.lock.kind === 'resting'
}

async function conflictResult(
  { store }: WorkloadContext,
  row: VariableRow | undefined,
): Promise<VariableWriteResult> {
  const index = await store.settledIndex()
  return { kind: 'conflict', row, index }
}

/** Renews or releases a lock. */
async function renewOrReleaseLock(
  context: WorkloadContext,
  caller: RequestCaller,
  request: VariableWrite,
): Promise<Result<VariableWriteResult, Refusal>> {
  const { row, lock } = currentVariable(context, request)
  if (row === undefined) return err(VARIABLE_NOT_FOUND)
  const isHolder = lock.kind === 'held' && lock.id === request.body.Lock?.ID
  if (!isHolder || row.Lock === null) return ok(await conflictResult(context, row))
  const { Lock } = row
  return ok(
    await commitVariable(context, caller, request, (stamp) => {
      if (request.lock === 'renew') return lockRows(row, Lock, stamp)
      const next = { ...row, Lock: null, ...timestamps(row, stamp) }
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
): Promise<VariableWriteResult> {
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

function timestamps(before: VariableRow | undefined, { timeMs }: Stamp) {
  const now = nsFromMs(timeMs)
  return { CreateTime: before?.CreateTime ?? now, ModifyTime: now }
}

function updatedRow(
  context: WorkloadContext,
  request: VariableWrite,
  {
    items,
    stamp,
  }: { readonly items: Readonly<Record<string, string>> | undefined; readonly stamp: Stamp },
): Omit<VariableRow, 'Lock'> {
  const { namespace: Namespace, path: Path } = request
  const before = context.store.tables.variables.find(namespacedKey(Namespace, Path))
  const unchangedItems = items === undefined ? before?.SealedItems : undefined
  return {
    Namespace,
    Path,
    SealedItems: unchangedItems ?? sealItems(context.sealer, items ?? {}),
    CreateIndex: 0,
    ModifyIndex: 0,
    ...timestamps(before, stamp),
  }
}

/** Returns the items to store; undefined if a lock is acquired and they are unchanged. */
function parseItems({
  body,
  lock,
}: VariableWrite): Result<Readonly<Record<string, string>> | undefined, string> {
  const items = stringMap(body.Items)
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

function validateTarget({ store }: WorkloadContext, request: VariableWrite): Refusal | undefined {
  const { namespace, path, body } = request
  const bodyPath = body.Path ?? ''
  const problem =
    bodyPath !== '' && bodyPath !== path
      ? `variable path "${bodyPath.slice(0, 128)}" does not match the path of the request`
      : variablePathProblem(path)
  if (problem !== undefined) return refusal('invalid-input', problem)
  return store.tables.namespaces.has(namespace)
    ? undefined
    : refusal('unknown-namespace', `variable is in nonexistent namespace "${namespace}"`)
}

/** Decrypted items of a variable, which exist only while a request is handled. */
type VariableItems = Readonly<Record<string, string>>

export function sealItems(sealer: Sealer, items: VariableItems): string {
  return sealer.seal(JSON.stringify(items))
}

/** Throws a Fault if the items were sealed with another key. */
export function openItems(sealer: Sealer, { SealedItems }: VariableRow): VariableItems {
  // Sealed by `sealItems`; `open` rejects tampered data.
  return JSON.parse(sealer.open(SealedItems)) as VariableItems
}
