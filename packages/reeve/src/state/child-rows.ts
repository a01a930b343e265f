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
import { companionRows } from './companion-rows.ts'
import { withJobRows } from './job-rows.ts'
import { put, type Change, type Stamp } from './store.ts'
import { namespacedKey, type Tables } from './tables.ts'

export interface ChildOptions {
  readonly stamp: Stamp
  readonly ids: IdSource
  /** The evaluation that places the child; one that waits for its own launches gets none. */
  readonly evalId: string
  readonly trigger: Trigger
  readonly origin: VersionOrigin
}

/**
 * Registers a child of a periodic or parameterized job: the job, its version, its summary and its
 * evaluation. Two launches of the same second share an id; the second registers the same child
 * again, which is a new version only if it differs.
 */
export function childRows(tables: Tables, child: Job, options: ChildOptions): Change[] {
  const key = namespacedKey(child.Namespace, child.ID)
  const current = tables.jobs.find(key)
  const isNew = current === undefined || current.Stop || jobSpecChanged(current, child)
  const job = isNew ? nextVersion(tables, child, options) : current
  return withJobRows(tables, [
    ...(isNew ? versionRows(tables, job, options) : []),
    ...(isParent(job) ? [] : [evaluationRow(job, options)]),
  ])
}

/** Versions of a child that was purged stay while something runs them: those are passed over. */
function nextVersion(tables: Tables, child: Job, { stamp, origin }: ChildOptions): Job {
  const { index, timeMs } = stamp
  const key = namespacedKey(child.Namespace, child.ID)
  const last = tables.jobs.find(key) ?? tables.job_versions.rowsIn('job', key).at(-1)
  return {
    ...withOrigin(child, origin),
    Version: last === undefined ? 0 : last.Version + 1,
    SubmitTime: nsFromMs(timeMs),
    JobModifyIndex: index,
    CreateIndex: tables.jobs.createIndexOf(key) ?? index,
    ModifyIndex: index,
  }
}

function versionRows(tables: Tables, version: Job, { ids, stamp }: ChildOptions): Change[] {
  const { job, changes } = companionRows(tables, version, { ids, nowMs: stamp.timeMs })
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
