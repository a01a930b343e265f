import { setImmediate } from 'node:timers/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { areAdjacentMinors, compareMinors, parseMinor } from '@reeve/kit/release.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../model/index.ts'
import {
  clusterLevel,
  FIRST_LEVEL,
  put,
  restoreBlobs,
  restoreChanges,
  takeSnapshot,
  type Author,
  type RestoredState,
  type SnapshotRow,
  type Store,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'

/** A snapshot whose rows were validated one by one. */
export interface ValidSnapshot extends RestoredState {
  /** When it was saved. */
  readonly savedAt: string
  readonly index: number
}

type RestoreContext = Pick<WorkloadContext, 'store' | 'sealer'>

/**
 * Maximum distance between the index of a running state and that of a snapshot: the log is advanced
 * with empty commits, about a million in fifteen seconds.
 */
const INDEX_GAP_MAX = 5_000_000
/** Empty commits per write. */
const EMPTY_COMMITS_PER_WRITE = 10_000

/**
 * Replaces the state by that of a snapshot while requests are served. All rows and blobs change in
 * one commit, so that a crash leaves either the old state or the new one, and the other servers of
 * a cluster receive the new state from the log. Audit records that are not in the snapshot are
 * kept. Nothing else may write meanwhile: the loops of the leader are stopped.
 */
export async function restoreState(
  context: RestoreContext,
  { by }: Author,
  snapshot: ValidSnapshot,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { store } = context
  const problem = levelProblem(store, snapshot) ?? secretsProblem(context, snapshot)
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  // The indexes of the restored rows must not be ahead of the index of the state.
  const gap = snapshot.index - store.index
  if (gap > INDEX_GAP_MAX)
    return err(
      refusal(
        'invalid-input',
        `The index of the snapshot, ${snapshot.index}, is too far ahead of ${store.index}, the index ` +
          'of these servers. Restore it into an empty storage, with --data-dir or --database.',
      ),
    )
  await advanceIndex(store, snapshot.index)
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    // It deletes rows and still may need more space than it frees.
    freesSpace: false,
    changes: () => [put('settings', lastRestore(snapshot)), ...restoreChanges(store, snapshot)],
    blobs: restoreBlobs(takeSnapshot(store), snapshot),
    auditSubject: { organizationId: null, resourceIds: [`snapshot-${snapshot.index}`] },
  })
  await durable
  return ok({ index })
}

function lastRestore({ savedAt, index }: ValidSnapshot) {
  const indexes = { CreateIndex: 0, ModifyIndex: 0 }
  return { Name: 'last-restore', SavedAt: savedAt, SnapshotIndex: index, ...indexes } as const
}

/** Advances the index of the log with commits that change nothing. */
async function advanceIndex(store: Store, index: number): Promise<void> {
  while (store.index < index) {
    const end = Math.min(index, store.index + EMPTY_COMMITS_PER_WRITE)
    while (store.index < end)
      store.commit({ by: 'system', cause: undefined, changes: () => [], advancesIndex: true })
    await store.whenDurable()
    await setImmediate()
  }
}

/** The state of a snapshot must be one that all servers of the cluster can read. */
function levelProblem({ tables }: Store, { rows }: ValidSnapshot): string | undefined {
  const row = rows.find(({ table, key }) => table === 'settings' && key === 'cluster-level')
  const text = String(row === undefined ? FIRST_LEVEL : Reflect.get(parsed(row), 'Level'))
  const [level, current] = [parseMinor(text), parseMinor(clusterLevel(tables))]
  if (level === undefined || current === undefined) return undefined
  const order = compareMinors(level, current)
  if (order > 0)
    return (
      `The cluster level of the snapshot is ${text}, and these servers are at ` +
      `${clusterLevel(tables)}: upgrade them first, with "reeve operator upgrade finish" at the end.`
    )
  if (order < 0 && !areAdjacentMinors(current, level))
    return `The cluster level of the snapshot is ${text}, which is too old for these servers.`
  return undefined
}

/** One key sealed all secrets, so a sample of each kind is enough. */
const SAMPLED_SECRETS_MAX = 100
const SEALED_FIELDS: Readonly<Record<string, string>> = {
  acl_tokens: 'SealedSecret',
  variables: 'SealedItems',
}

/** The servers must be able to open the secrets of a snapshot with their key. */
function secretsProblem({ sealer }: RestoreContext, { rows }: ValidSnapshot): string | undefined {
  const sampled: Record<string, number> = {}
  try {
    for (const row of rows) {
      const field = SEALED_FIELDS[row.table]
      const count = sampled[row.table] ?? 0
      if (field === undefined || count >= SAMPLED_SECRETS_MAX) continue
      sampled[row.table] = count + 1
      sealer.open(String(Reflect.get(parsed(row), field)))
    }
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return (
      'The secrets of the snapshot were sealed with another key, which these servers do not have. ' +
      'Restore it into an empty storage, whose servers get the sealing key, or the ' +
      'server.cluster_key, of the servers that it was saved from.'
    )
  }
}

function parsed({ body }: SnapshotRow): object {
  // Proof: the snapshot was validated; its bodies are JSON objects.
  return JSON.parse(body) as object
}
