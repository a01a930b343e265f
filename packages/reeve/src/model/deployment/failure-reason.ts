import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { LIMITS } from '../limits.ts'

type FailureRow = Pick<
  AllocationRow,
  'ID' | 'TaskGroup' | 'ModifyIndex' | 'ClientStatus' | 'ClientDescription' | 'TaskStates'
>

/**
 * Returns why allocations of a deployment are not healthy, from the newest one with a reason: the
 * check that did not pass, or the failure of a task. Empty if there is none.
 */
export function failureReason(rows: readonly FailureRow[]): string {
  const newestFirst = rows.toSorted(
    (a, b) => b.ModifyIndex - a.ModifyIndex || compareText(a.ID, b.ID),
  )
  for (const row of newestFirst) {
    const failure = taskFailure(row)
    if (failure === undefined) continue
    const allocationLabel = `allocation ${row.ID.slice(0, 8)} of group "${row.TaskGroup}"`
    return `${allocationLabel}, task "${failure.task}": ${toShortLine(failure.text)}`
  }
  return ''
}

interface TaskFailure {
  readonly task: string
  readonly text: string
}

/** Prefers failed tasks to tasks that are only not healthy yet. */
function taskFailure({ TaskStates }: FailureRow): TaskFailure | undefined {
  const tasks = Object.entries(TaskStates ?? {}).toSorted(([a], [b]) => compareText(a, b))
  for (const types of [FAILURE_EVENTS, UNHEALTHY_EVENTS])
    for (const [task, state] of tasks) {
      if (types === FAILURE_EVENTS && state.Failed !== true) continue
      const event = (state.Events ?? []).findLast(({ Type }) => types.has(Type ?? ''))
      const text = event?.DisplayMessage || event?.Message || ''
      if (text !== '') return { task, text }
    }
  return undefined
}

/**
 * Events that describe a task failure; `Not Restarting` follows each of them and is less specific.
 */
const FAILURE_EVENTS: ReadonlySet<string> = new Set([
  'Terminated',
  'Driver Failure',
  'Setup Failure',
  'Failed Artifact Download',
  'Failed Validation',
  'Task hook failed',
  'Failed Restoring Task',
])

const UNHEALTHY_EVENTS: ReadonlySet<string> = new Set([
  ...FAILURE_EVENTS,
  'Alloc Unhealthy',
  'Restart Signaled',
])

/** Returns one line of limited length, because the text may come from a task or driver. */
function toShortLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const max = LIMITS.failureReasonCharsMax
  return line.length > max ? `${line.slice(0, max)}…` : line
}
