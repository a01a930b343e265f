import type { ClientStatus, TaskState } from '@reeve/contract'

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

/** Reference scheduling §1.3: the status of an allocation follows from its tasks, in this order. */
export function summarize(states: Iterable<Pick<TaskState, 'State' | 'Failed'>>): StatusSummary {
  const tasks = [...states]
  const some = (state: TaskState['State']) => tasks.some((task) => task.State === state)
  const status = tasks.some((task) => task.State === 'dead' && task.Failed)
    ? 'failed'
    : some('running')
      ? 'running'
      : some('pending')
        ? 'pending'
        : 'complete'
  return { ClientStatus: status, ClientDescription: DESCRIPTIONS[status] }
}
