import type { Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { launchRecord, settlePolicies } from '../model/index.ts'
import { put, remove, type Change } from './store.ts'
import { namespacedKey, type TableName, type Tables } from './tables.ts'

/** A version of a job as it is stored, with the rows that go with it. */
export interface Companions {
  /** With the ids of its scaling policies. */
  readonly job: Job
  readonly changes: readonly Change[]
}

/**
 * What a new version of a job means for its scaling policies and for its place in the schedule of
 * periodic launches. Whoever writes a version commits these with it.
 */
export function companionRows(
  tables: Tables,
  version: Job,
  { ids, nowMs }: { readonly ids: IdSource; readonly nowMs: number },
): Companions {
  const key = namespacedKey(version.Namespace, version.ID)
  const stored = tables.scaling_policies.rowsIn('job', key)
  const { job, changed, removed } = settlePolicies(version, stored, ids)
  const changes = [
    ...changed.map((policy) => put('scaling_policies', policy)),
    ...removed.map((id) => remove('scaling_policies', id)),
    ...launchRows(tables, job, nowMs),
  ]
  return { job, changes }
}

function launchRows(tables: Tables, job: Job, nowMs: number): Change[] {
  const key = namespacedKey(job.Namespace, job.ID)
  const record = launchRecord(tables.jobs.find(key), job, nowMs)
  if (record === 'keep') return []
  if (record !== undefined) return [put('periodic_launches', record)]
  return tables.periodic_launches.has(key) ? [remove('periodic_launches', key)] : []
}

/** Where the companions of a job are: they go when it is purged. */
export function companionKeys(
  tables: Tables,
  key: string,
): readonly { readonly table: TableName; readonly key: string }[] {
  const keysOf = (table: 'scaling_policies' | 'scaling_events') =>
    [...tables[table].keysIn('job', key)].map((own) => ({ table, key: own }))
  return [
    ...keysOf('scaling_policies'),
    ...keysOf('scaling_events'),
    ...(tables.periodic_launches.has(key) ? [{ table: 'periodic_launches', key } as const] : []),
  ]
}
