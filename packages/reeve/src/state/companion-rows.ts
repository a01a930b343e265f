import type { Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { launchRecordAfterUpdate, assignPolicyIds } from '../model/index.ts'
import { put, remove, type Change } from './store.ts'
import { namespacedKey, type TableName, type Tables } from './tables.ts'

/** A job version as it is stored, with its dependent rows. */
export interface JobVersionRows {
  /** The job with the IDs of its scaling policies. */
  readonly job: Job
  readonly changes: readonly Change[]
}

/**
 * Changes of scaling policies and of the periodic launch schedule that a new job version requires.
 * Must be part of the commit that writes the version.
 */
export function scalingAndLaunchRows(
  tables: Tables,
  version: Job,
  { ids, nowMs }: { readonly ids: IdSource; readonly nowMs: number },
): JobVersionRows {
  const key = namespacedKey(version.Namespace, version.ID)
  const stored = tables.scaling_policies.rowsByIndex('job', key)
  const { job, changed, removed } = assignPolicyIds(version, stored, ids)
  const changes = [
    ...changed.map((policy) => put('scaling_policies', policy)),
    ...removed.map((id) => remove('scaling_policies', id)),
    ...launchRows(tables, job, nowMs),
  ]
  return { job, changes }
}

function launchRows(tables: Tables, job: Job, nowMs: number): Change[] {
  const key = namespacedKey(job.Namespace, job.ID)
  const record = launchRecordAfterUpdate(tables.jobs.find(key), job, nowMs)
  if (record === 'keep') return []
  if (record !== undefined) return [put('periodic_launches', record)]
  return tables.periodic_launches.has(key) ? [remove('periodic_launches', key)] : []
}

/** Keys of the rows that belong to a job and are deleted when it is purged. */
export function jobDependentKeys(
  tables: Tables,
  key: string,
): readonly { readonly table: TableName; readonly key: string }[] {
  const keysOf = (table: 'scaling_policies' | 'scaling_events') =>
    [...tables[table].keysByIndex('job', key)].map((rowKey) => ({ table, key: rowKey }))
  return [
    ...keysOf('scaling_policies'),
    ...keysOf('scaling_events'),
    ...(tables.periodic_launches.has(key) ? [{ table: 'periodic_launches', key } as const] : []),
  ]
}
