import type { ClientStatus, TaskState } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'

export interface AllocationStatus {
  readonly ClientStatus: ClientStatus
  readonly ClientDescription: string
}

const STATUS_DESCRIPTIONS = {
  pending: 'No tasks have started',
  running: 'Tasks are running',
  complete: 'All tasks have completed',
  failed: 'Failed tasks',
} as const
/** Description while tasks wait for a restart or for the next lifecycle stage. */
const NO_TASK_RUNNING = 'No tasks are running'

/** Derives the client status of an allocation from its tasks, in this order of precedence. */
export function clientStatusOf(
  states: Iterable<Pick<TaskState, 'State' | 'Failed' | 'StartedAt'>>,
): AllocationStatus {
  const tasks = [...states]
  const hasTaskIn = (state: TaskState['State']) => tasks.some((task) => task.State === state)
  const status = tasks.some((task) => task.State === 'dead' && task.Failed)
    ? 'failed'
    : hasTaskIn('running')
      ? 'running'
      : hasTaskIn('pending')
        ? 'pending'
        : 'complete'
  const hasStartedBefore =
    status === 'pending' && tasks.some((task) => task.StartedAt !== ZERO_TIME)
  return {
    ClientStatus: status,
    ClientDescription: hasStartedBefore ? NO_TASK_RUNNING : STATUS_DESCRIPTIONS[status],
  }
}
