import { setImmediate } from 'node:timers/promises'
import { isEqual, recountSummary } from '../model/index.ts'
import {
  runGc,
  countChildren,
  ZERO_GC_THRESHOLDS,
  put,
  type Author,
  type Change,
  type Store,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'

/** Deletes all terminal objects, whatever their age. */
export async function forceGarbageCollection(
  { store, clock }: WorkloadContext,
  { by }: Author,
): Promise<void> {
  const yieldToEventLoop = (): Promise<void> => setImmediate()
  await runGc(store, { nowMs: clock.nowMs(), ages: ZERO_GC_THRESHOLDS, yieldToEventLoop, by })
}

/** Number of jobs recounted in one commit. */
const JOBS_PER_COMMIT = 200

/**
 * Recounts the allocations of every job, as a repair. In slices, so that a million allocations do
 * not block the event loop; the summary of a job that changes meanwhile is correct anyway.
 */
export async function recountSummaries({ store }: WorkloadContext, { by }: Author): Promise<void> {
  let author = by
  let from: string | undefined = ''
  while (from !== undefined) {
    const { keys, next } = nextJobKeys(store, from)
    const changes = keys.flatMap((key) => correctedSummary(store, key))
    const { durable } = store.commit({ by: author, cause: undefined, changes: () => changes })
    if (changes.length > 0) author = 'system'
    await durable
    from = next
    await setImmediate()
  }
}

function nextJobKeys({ tables }: Store, from: string) {
  const keys: string[] = []
  for (const key of tables.jobs.keys(from)) {
    if (keys.length === JOBS_PER_COMMIT) return { keys, next: key }
    keys.push(key)
  }
  return { keys, next: undefined }
}

/** Returns the corrected summary of a job, if it was wrong. */
function correctedSummary({ tables }: Store, key: string): Change[] {
  const job = tables.jobs.find(key)
  const summary = tables.job_summaries.find(key)
  if (job === undefined || summary === undefined) return []
  const current = tables.allocations
    .rowsByIndex('job', key)
    .filter((row) => row.CreateIndex >= job.CreateIndex)
  const Children = countChildren(tables, key)
  const counted = { ...recountSummary(summary, job, current), Children }
  const before = { ...summary, ModifyIndex: counted.ModifyIndex }
  return isEqual(before, counted) ? [] : [put('job_summaries', counted)]
}
