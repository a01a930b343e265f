import type { Deployment } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { OrderKey } from '../order-of-creation.ts'
import { namespacedKey, type Tables } from '../tables.ts'
import type { Bundle } from './bundle.ts'
import { collectEvaluation } from './collect-evaluation.ts'
import { collectJob } from './collect-job.ts'
import type { GarbageOptions, Round } from './round.ts'
import { Slice } from './slice.ts'

/** Where a collection goes on. */
export type GarbageCursor =
  | ListCursor<'jobs'>
  | WalkCursor<'evaluations'>
  | WalkCursor<'deployments'>
  | ListCursor<'nodes'>
  | ListCursor<'volumes'>

/** Few rows, known by an index: their keys, and how far the collection is. */
interface ListCursor<S extends string> {
  readonly stage: S
  readonly keys: readonly string[]
  readonly at: number
  /** What belongs to the row at hand, when one slice was not enough for it. */
  readonly bundle?: Bundle | undefined
}

/** Rows in order of creation, from a position on. */
interface WalkCursor<S extends string> {
  readonly stage: S
  readonly from: OrderKey | undefined
  readonly bundle?: Bundle | undefined
}

/** Jobs first: with them go evaluations and allocations that would have to be asked one by one. */
export function firstCursor(tables: Tables): GarbageCursor {
  return { stage: 'jobs', keys: sortedKeys(tables.jobs, 'garbage'), at: 0 }
}

/**
 * One slice of a collection: what is old enough and needed by nobody, and where to go on; undefined
 * at the end. Pure: equal state, time and cursor give an equal slice.
 */
export function decideGarbage(
  tables: Tables,
  cursor: GarbageCursor,
  options: GarbageOptions,
): { readonly slice: Slice; readonly next: GarbageCursor | undefined } {
  const slice = new Slice(tables)
  const round = { tables, slice, ...options }
  let next: GarbageCursor | undefined = cursor
  while (next !== undefined && slice.hasRoom) next = advance(round, next)
  return { slice, next }
}

/** Nodes come late: by then what was on them may be gone. Last are the volumes of those gone. */
function advance(round: Round, cursor: GarbageCursor): GarbageCursor | undefined {
  const { tables } = round
  switch (cursor.stage) {
    case 'jobs':
      return advanceJobs(round, cursor) ?? { stage: 'evaluations', from: undefined }
    case 'evaluations':
      return advanceEvaluations(round, cursor) ?? { stage: 'deployments', from: undefined }
    case 'deployments':
      return (
        advanceDeployments(round, cursor) ?? {
          stage: 'nodes',
          keys: sortedKeys(tables.nodes, 'down'),
          at: 0,
        }
      )
    case 'nodes':
      return (
        advanceNodes(round, cursor) ?? {
          stage: 'volumes',
          keys: sortedKeys(tables.host_volumes, 'unavailable'),
          at: 0,
        }
      )
    case 'volumes':
      return advanceVolumes(round, cursor)
  }
}

function advanceJobs(round: Round, cursor: ListCursor<'jobs'>): GarbageCursor | undefined {
  const key = cursor.keys[cursor.at]
  if (key === undefined) return undefined
  const bundle = collectJob(round, key, cursor.bundle)
  return bundle === undefined ? { ...cursor, at: cursor.at + 1, bundle } : { ...cursor, bundle }
}

/** From the oldest on; it ends where they become too young. */
function advanceEvaluations(
  round: Round,
  { from, bundle }: WalkCursor<'evaluations'>,
): GarbageCursor | undefined {
  const { evaluations } = round.tables
  for (const id of evaluations.keysByCreation(from)) {
    const here = { key: id, createIndex: evaluations.createIndexOf(id) ?? 0 }
    if (!round.slice.hasRoom) return { stage: 'evaluations', from: here }
    const step = collectEvaluation(round, id, from?.key === id ? bundle : undefined)
    if (step === 'too-young') return undefined
    if (step !== undefined) return { stage: 'evaluations', from: here, bundle: step }
  }
  return undefined
}

function advanceDeployments(
  round: Round,
  { from }: WalkCursor<'deployments'>,
): GarbageCursor | undefined {
  const { slice, nowMs, ages } = round
  const { deployments } = round.tables
  for (const id of deployments.keysByCreation(from)) {
    const createIndex = deployments.createIndexOf(id) ?? 0
    if (!slice.hasRoom) return { stage: 'deployments', from: { key: id, createIndex } }
    slice.look()
    if (deployments.groupOf('active', id) !== undefined || isUsed(round, 'deployment', id)) continue
    slice.decode()
    const row = deployments.get(id)
    if (msFromNs(row.ModifyTime) <= nowMs - ages.deploymentMs && !holdsUp(round, row))
      slice.remove('deployments', id)
  }
  return undefined
}

/**
 * Whether a version that failed is still the one that is wanted: forgotten, it would be rolled out
 * again by the next evaluation.
 */
function holdsUp({ tables }: Round, row: Deployment): boolean {
  if (row.Status !== 'failed') return false
  const job = tables.jobs.find(namespacedKey(row.Namespace, row.JobID))
  return (
    job !== undefined &&
    !job.Stop &&
    job.Version === row.JobVersion &&
    job.CreateIndex === row.JobCreateIndex
  )
}

/**
 * A node that has been down for long, without unfinished allocations and volumes: it may return
 * with the data of its volumes, so purging it or deleting them by force is left to operators.
 */
function advanceNodes(round: Round, cursor: ListCursor<'nodes'>): GarbageCursor | undefined {
  const { tables, slice, nowMs, ages } = round
  const id = cursor.keys[cursor.at]
  if (id === undefined) return undefined
  slice.decode()
  const node = tables.nodes.find(id)
  const isOld = node?.Status === 'down' && node.StatusUpdatedAt * 1000 <= nowMs - ages.nodeMs
  const hasVolumes = tables.host_volumes.countIn('node', id) > 0
  if (isOld && !hasVolumes && !isUsed(round, 'node', id)) slice.remove('nodes', id)
  return { ...cursor, at: cursor.at + 1 }
}

/** Removes a volume whose node was removed longer ago than the node threshold. */
function advanceVolumes(round: Round, cursor: ListCursor<'volumes'>): GarbageCursor | undefined {
  const { tables, slice, nowMs, ages } = round
  const key = cursor.keys[cursor.at]
  if (key === undefined) return undefined
  slice.decode()
  const row = tables.host_volumes.find(key)
  const isLost = row !== undefined && !tables.nodes.has(row.NodeID)
  if (isLost && msFromNs(row.ModifyTime) <= nowMs - ages.nodeMs) slice.remove('host_volumes', key)
  return { ...cursor, at: cursor.at + 1 }
}

/** Whether an allocation that has not ended belongs to it. */
function isUsed({ tables }: Round, index: 'deployment' | 'node', group: string): boolean {
  for (const key of tables.allocations.keysIn(index, group))
    if (tables.allocations.groupOf('live', key) !== undefined) return true
  return false
}

function sortedKeys(
  table: { keysIn(index: string, group: string): Iterable<string> },
  index: string,
): readonly string[] {
  return [...table.keysIn(index, 'yes')].toSorted(compareText)
}
