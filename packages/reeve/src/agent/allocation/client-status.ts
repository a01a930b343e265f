import type { ClientStatus, TaskState } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'

export interface StatusSummary {
  readonly ClientStatus: ClientStatus
  readonly ClientDescription: string
}

const DESCRIPTIONS = {
  pending: 'No tasks have started',
  running: 'Tasks are running',
  complete: 'All tasks have completed',
  failed: 'Failed tasks',
} as const
/** Of what waits to be started again, or for the next stage of its lifecycle. */
const BETWEEN_STARTS = 'No tasks are running'

/** The status of an allocation follows from its tasks, in this order. */
export function summarize(
  states: Iterable<Pick<TaskState, 'State' | 'Failed' | 'StartedAt'>>,
): StatusSummary {
  const tasks = [...states]
  const some = (state: TaskState['State']) => tasks.some((task) => task.State === state)
  const status = tasks.some((task) => task.State === 'dead' && task.Failed)
    ? 'failed'
    : some('running')
      ? 'running'
      : some('pending')
        ? 'pending'
        : 'complete'
  const isBetween = status === 'pending' && tasks.some((task) => task.StartedAt !== ZERO_TIME)
  return {
    ClientStatus: status,
    ClientDescription: isBetween ? BETWEEN_STARTS : DESCRIPTIONS[status],
  }
}
