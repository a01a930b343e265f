import { LOG_TYPES, type LogType } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { namespacedKey } from '../../state/index.ts'
import type { AllocationRow } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'

/** One output stream of one task of one allocation. */
export interface LogSource {
  /** Unique and stable. */
  readonly key: string
  readonly allocation: string
  readonly nodeId: string
  readonly task: string
  readonly type: LogType
}

export interface LogSourceFilter {
  readonly namespace: string
  readonly jobId: string
  /** All tasks if empty. */
  readonly task: string
  readonly types: readonly LogType[]
}

/** Default: both types. */
export const ALL_LOG_TYPES: readonly LogType[] = LOG_TYPES

/** Returns all existing and current log outputs of a job's tasks, oldest allocation first. */
export function jobLogSources(
  { store: { tables } }: WorkloadContext,
  { namespace, jobId, task, types }: LogSourceFilter,
): readonly LogSource[] {
  return tables.allocations
    .rowsByIndex('job', namespacedKey(namespace, jobId))
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex || compareText(a.ID, b.ID))
    .flatMap((row) => startedTaskNames(row, task).flatMap((name) => logSourcesOf(row, name, types)))
}

function startedTaskNames({ TaskStates }: AllocationRow, taskName: string): readonly string[] {
  return Object.entries(TaskStates ?? {})
    .filter(([name, { StartedAt }]) => {
      return (taskName === '' || name === taskName) && typeof StartedAt === 'string'
    })
    .map(([name]) => name)
}

function logSourcesOf(
  { ID, NodeID }: AllocationRow,
  task: string,
  types: readonly LogType[],
): readonly LogSource[] {
  return types.map((type) => {
    return { key: `${ID} ${task} ${type}`, allocation: ID, nodeId: NodeID, task, type }
  })
}

/** True if no more output can follow: the job was purged or has ended. */
export function isJobFinished(
  { store: { tables } }: WorkloadContext,
  { namespace, jobId }: Pick<LogSourceFilter, 'namespace' | 'jobId'>,
): boolean {
  const job = tables.jobs.find(namespacedKey(namespace, jobId))
  return job === undefined || job.Status === 'dead'
}
