import type { Job, Trigger } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  isParent,
  jobSpecChanged,
  newEvaluation,
  newSummary,
  withOrigin,
  type VersionOrigin,
} from '../model/index.ts'
import { scalingAndLaunchRows } from './companion-rows.ts'
import { withDerivedRows } from './job-rows.ts'
import { put, type Change, type Stamp } from './store.ts'
import { namespacedKey, type Tables } from './tables.ts'

export interface ChildOptions {
  readonly stamp: Stamp
  readonly ids: IdSource
  /**
   * ID of the evaluation that places the child; unused if the child is itself a periodic or
   * parameterized job.
   */
  readonly evalId: string
  readonly trigger: Trigger
  readonly origin: VersionOrigin
}

/**
 * Rows that register a child of a periodic or parameterized job: job, version, summary and
 * evaluation. Two launches in the same second have the same ID; the second creates a new version
 * only if the job differs.
 */
export function childJobRows(tables: Tables, child: Job, options: ChildOptions): Change[] {
  const key = namespacedKey(child.Namespace, child.ID)
  const current = tables.jobs.find(key)
  const isNew = current === undefined || current.Stop || jobSpecChanged(current, child)
  const job = isNew ? nextChildVersion(tables, child, options) : current
  return withDerivedRows(tables, [
    ...(isNew ? childVersionRows(tables, job, options) : []),
    ...(isParent(job) ? [] : [evaluationRow(job, options)]),
  ])
}

/**
 * Versions of a purged child remain while allocations run them, so numbering continues after them.
 */
function nextChildVersion(tables: Tables, child: Job, { stamp, origin }: ChildOptions): Job {
  const { index, timeMs } = stamp
  const key = namespacedKey(child.Namespace, child.ID)
  const lastVersion = tables.jobs.find(key) ?? tables.job_versions.rowsByIndex('job', key).at(-1)
  return {
    ...withOrigin(child, origin),
    Version: lastVersion === undefined ? 0 : lastVersion.Version + 1,
    SubmitTime: nsFromMs(timeMs),
    JobModifyIndex: index,
    CreateIndex: tables.jobs.createIndexOf(key) ?? index,
    ModifyIndex: index,
  }
}

function childVersionRows(tables: Tables, version: Job, { ids, stamp }: ChildOptions): Change[] {
  const { job, changes } = scalingAndLaunchRows(tables, version, { ids, nowMs: stamp.timeMs })
  const key = namespacedKey(job.Namespace, job.ID)
  return [
    put('jobs', job),
    put('job_versions', job),
    ...(tables.job_summaries.has(key) ? [] : [put('job_summaries', newSummary(job))]),
    ...changes,
  ]
}

function evaluationRow(job: Job, { evalId, trigger, stamp }: ChildOptions): Change {
  const evaluation = newEvaluation(job, {
    id: evalId,
    trigger,
    timeMs: stamp.timeMs,
    jobModifyIndex: job.JobModifyIndex,
  })
  return put('evaluations', evaluation)
}
