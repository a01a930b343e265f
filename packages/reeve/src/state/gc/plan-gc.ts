import type { Deployment } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Author } from '../audit-entry.ts'
import type { OrderKey } from '../table/key-order.ts'
import { namespacedKey, type Tables } from '../schema/tables.ts'
import type { Store } from '../store.ts'
import { type AtomicRows, collectEvaluation, collectJob } from './gc-rows.ts'
import {
  type GcOptions,
  type GcContext,
  GcBatch,
  type GcCounts,
  type GcThresholds,
} from './gc-batch.ts'

/** Position at which a collection continues. */
type GcCursor =
  | KeyListCursor<'jobs'>
  | OrderedCursor<'evaluations'>
  | OrderedCursor<'deployments'>
  | KeyListCursor<'nodes'>
  | KeyListCursor<'volumes'>

/** Position in a short list of keys taken from an index. */
interface KeyListCursor<S extends string> {
  readonly stage: S
  readonly keys: readonly string[]
  readonly position: number
  /** Progress within the current row, if one batch was not enough for it. */
  readonly progress?: AtomicRows | undefined
}

/** Position in the creation order of a table. */
interface OrderedCursor<S extends string> {
  readonly stage: S
  readonly from: OrderKey | undefined
  readonly progress?: AtomicRows | undefined
}

/**
 * Starts with jobs: deleting a job deletes its evaluations and allocations, which then need no
 * separate check.
 */
export function firstCursor(tables: Tables): GcCursor {
  return { stage: 'jobs', keys: sortedKeys(tables.jobs, 'garbage'), position: 0 }
}

/**
 * Plans one batch: the rows that are old enough and unused, and the position at which to continue;
 * undefined at the end. Pure: equal state, time and cursor give an equal batch.
 */
export function planGcBatch(
  tables: Tables,
  cursor: GcCursor,
  options: GcOptions,
): { readonly slice: GcBatch; readonly next: GcCursor | undefined } {
  const slice = new GcBatch(tables)
  const context = { tables, slice, ...options }
  let next: GcCursor | undefined = cursor
  while (next !== undefined && slice.hasBudget) next = advance(context, next)
  return { slice, next }
}

/**
 * Nodes follow allocations, because by then they may be unused. Volumes of removed nodes come last.
 */
function advance(context: GcContext, cursor: GcCursor): GcCursor | undefined {
  const { tables } = context
  switch (cursor.stage) {
    case 'jobs':
      return advanceJobs(context, cursor) ?? { stage: 'evaluations', from: undefined }
    case 'evaluations':
      return advanceEvaluations(context, cursor) ?? { stage: 'deployments', from: undefined }
    case 'deployments':
      return (
        advanceDeployments(context, cursor) ?? {
          stage: 'nodes',
          keys: sortedKeys(tables.nodes, 'down'),
          position: 0,
        }
      )
    case 'nodes':
      return (
        advanceNodes(context, cursor) ?? {
          stage: 'volumes',
          keys: sortedKeys(tables.host_volumes, 'unavailable'),
          position: 0,
        }
      )
    case 'volumes':
      return advanceVolumes(context, cursor)
  }
}

function advanceJobs(context: GcContext, cursor: KeyListCursor<'jobs'>): GcCursor | undefined {
  const key = cursor.keys[cursor.position]
  if (key === undefined) return undefined
  const progress = collectJob(context, key, cursor.progress)
  return progress === undefined
    ? { ...cursor, position: cursor.position + 1, progress }
    : { ...cursor, progress }
}

/** Goes from the oldest to the newest and stops at the first one that is too young. */
function advanceEvaluations(
  context: GcContext,
  { from, progress }: OrderedCursor<'evaluations'>,
): GcCursor | undefined {
  const { evaluations } = context.tables
  for (const id of evaluations.keysByCreation(from)) {
    const position = { key: id, createIndex: evaluations.createIndexOf(id) ?? 0 }
    if (!context.slice.hasBudget) return { stage: 'evaluations', from: position }
    const step = collectEvaluation(context, id, from?.key === id ? progress : undefined)
    if (step === 'too-young') return undefined
    if (step !== undefined) return { stage: 'evaluations', from: position, progress: step }
  }
  return undefined
}

function advanceDeployments(
  context: GcContext,
  { from }: OrderedCursor<'deployments'>,
): GcCursor | undefined {
  const { slice, nowMs, ages } = context
  const { deployments } = context.tables
  for (const id of deployments.keysByCreation(from)) {
    const createIndex = deployments.createIndexOf(id) ?? 0
    if (!slice.hasBudget) return { stage: 'deployments', from: { key: id, createIndex } }
    slice.chargeLookup()
    if (
      deployments.indexKeyOf('active', id) !== undefined ||
      hasLiveAllocations(context, 'deployment', id)
    )
      continue
    slice.chargeDecode()
    const row = deployments.get(id)
    if (msFromNs(row.ModifyTime) <= nowMs - ages.deploymentMs && !blocksRedeploy(context, row))
      slice.remove('deployments', id)
  }
  return undefined
}

/**
 * True if the failed version is still the current one: without the deployment record the next
 * evaluation would roll it out again.
 */
function blocksRedeploy({ tables }: GcContext, row: Deployment): boolean {
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
 * Deletes a node that has been down for long and has no live allocations and no volumes. A node
 * with volumes may return with their data, so purging it or force-deleting its volumes is left to
 * operators.
 */
function advanceNodes(context: GcContext, cursor: KeyListCursor<'nodes'>): GcCursor | undefined {
  const { tables, slice, nowMs, ages } = context
  const id = cursor.keys[cursor.position]
  if (id === undefined) return undefined
  slice.chargeDecode()
  const node = tables.nodes.find(id)
  const isOld = node?.Status === 'down' && node.StatusUpdatedAt * 1000 <= nowMs - ages.nodeMs
  const hasVolumes = tables.host_volumes.countByIndex('node', id) > 0
  if (isOld && !hasVolumes && !hasLiveAllocations(context, 'node', id)) slice.remove('nodes', id)
  return { ...cursor, position: cursor.position + 1 }
}

/** Removes a volume whose node was removed longer ago than the node threshold. */
function advanceVolumes(
  context: GcContext,
  cursor: KeyListCursor<'volumes'>,
): GcCursor | undefined {
  const { tables, slice, nowMs, ages } = context
  const key = cursor.keys[cursor.position]
  if (key === undefined) return undefined
  slice.chargeDecode()
  const row = tables.host_volumes.find(key)
  const isLost = row !== undefined && !tables.nodes.has(row.NodeID)
  if (isLost && msFromNs(row.ModifyTime) <= nowMs - ages.nodeMs) slice.remove('host_volumes', key)
  return { ...cursor, position: cursor.position + 1 }
}

/** True if a live allocation belongs to it. */
function hasLiveAllocations(
  { tables }: GcContext,
  index: 'deployment' | 'node',
  group: string,
): boolean {
  for (const key of tables.allocations.keysByIndex(index, group))
    if (tables.allocations.indexKeyOf('live', key) !== undefined) return true
  return false
}

function sortedKeys(
  table: { keysByIndex(index: string, group: string): Iterable<string> },
  index: string,
): readonly string[] {
  return [...table.keysByIndex(index, 'yes')].toSorted(compareText)
}

interface GcRunOptions extends Author {
  readonly nowMs: number
  readonly ages: GcThresholds
  /** Yields to the event loop between two batches. */
  readonly yieldToEventLoop: () => Promise<void>
  /** Returning true ends the collection early. */
  readonly isStopped?: () => boolean
}

/**
 * Runs one collection batch by batch; each batch is durable before the next is planned. Rejects
 * with the storage fault; rows deleted by then stay deleted.
 */
export async function runGc(
  store: Store,
  { nowMs, ages, yieldToEventLoop, isStopped, by }: GcRunOptions,
): Promise<GcCounts> {
  const counts = { jobs: 0, evaluations: 0, allocations: 0, deployments: 0, nodes: 0 }
  let author = by
  let cursor: GcCursor | undefined = firstCursor(store.tables)
  while (cursor !== undefined) {
    if (isStopped?.() === true) break
    const { slice, next } = planGcBatch(store.tables, cursor, { nowMs, ages })
    // Commit in the tick in which the batch was planned: the job may be re-registered in the next
    // one.
    const results = slice.commits.map((request) => {
      const previousIndex = store.index
      const result = store.commit({ ...request, by: author })
      // A commit without changes leaves no audit record; the next one gets the entry.
      if (result.index > previousIndex) author = 'system'
      return result
    })
    await Promise.all(results.map(({ durable }) => durable))
    counts.jobs += slice.counts.jobs
    counts.evaluations += slice.counts.evaluations
    counts.allocations += slice.counts.allocations
    counts.deployments += slice.counts.deployments
    counts.nodes += slice.counts.nodes
    cursor = next
    await yieldToEventLoop()
  }
  return counts
}
