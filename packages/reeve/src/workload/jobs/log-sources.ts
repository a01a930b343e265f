import { LOG_TYPES, type LogType } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { namespacedKey } from '../../state/index.ts'
import type { AllocationRow } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'

/** One output of one task of one allocation. */
export interface LogSource {
  /** Unique, and the same whenever it is asked for. */
  readonly key: string
  readonly allocation: string
  readonly nodeId: string
  readonly task: string
  readonly type: LogType
}

export interface LogSourceQuestion {
  readonly namespace: string
  readonly jobId: string
  /** All tasks when empty. */
  readonly task: string
  readonly types: readonly LogType[]
}

/** Both, for who does not say which. */
export const EVERY_LOG_TYPE: readonly LogType[] = LOG_TYPES

/** Everything that a job's tasks have written or may write to, the oldest allocation first. */
export function jobLogSources(
  { store: { tables } }: WorkloadContext,
  { namespace, jobId, task, types }: LogSourceQuestion,
): readonly LogSource[] {
  return tables.allocations
    .rowsIn('job', namespacedKey(namespace, jobId))
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex || compareText(a.ID, b.ID))
    .flatMap((row) => startedTasks(row, task).flatMap((name) => sources(row, name, types)))
}

function startedTasks({ TaskStates }: AllocationRow, wanted: string): readonly string[] {
  return Object.entries(TaskStates ?? {})
    .filter(([name, { StartedAt }]) => {
      return (wanted === '' || name === wanted) && typeof StartedAt === 'string'
    })
    .map(([name]) => name)
}

function sources(
  { ID, NodeID }: AllocationRow,
  task: string,
  types: readonly LogType[],
): readonly LogSource[] {
  return types.map((type) => {
    return { key: `${ID} ${task} ${type}`, allocation: ID, nodeId: NodeID, task, type }
  })
}

/** Whether nothing more can come: the job is gone, or has ended. */
export function isJobOver(
  { store: { tables } }: WorkloadContext,
  { namespace, jobId }: Pick<LogSourceQuestion, 'namespace' | 'jobId'>,
): boolean {
  const job = tables.jobs.find(namespacedKey(namespace, jobId))
  return job === undefined || job.Status === 'dead'
}
