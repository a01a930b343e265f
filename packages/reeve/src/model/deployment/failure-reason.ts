import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { LIMITS } from '../limits.ts'

type Row = Pick<
  AllocationRow,
  'ID' | 'TaskGroup' | 'ModifyIndex' | 'ClientStatus' | 'ClientDescription' | 'TaskStates'
>

/**
 * Why allocations of a deployment are not healthy, in the words of the newest one that has any: the
 * check that did not pass, or how its task failed. Empty when none of them says.
 */
export function failureReason(rows: readonly Row[]): string {
  const newestFirst = rows.toSorted(
    (a, b) => b.ModifyIndex - a.ModifyIndex || compareText(a.ID, b.ID),
  )
  for (const row of newestFirst) {
    const told = taskReason(row)
    if (told === undefined) continue
    const where = `allocation ${row.ID.slice(0, 8)} of group "${row.TaskGroup}"`
    return `${where}, task "${told.task}": ${shortened(told.text)}`
  }
  return ''
}

interface Told {
  readonly task: string
  readonly text: string
}

/** A task that failed says more than one whose health was only waited for. */
function taskReason({ TaskStates }: Row): Told | undefined {
  const tasks = Object.entries(TaskStates ?? {}).toSorted(([a], [b]) => compareText(a, b))
  for (const types of [FAILURES, UNHEALTHY])
    for (const [task, state] of tasks) {
      if (types === FAILURES && state.Failed !== true) continue
      const event = (state.Events ?? []).findLast(({ Type }) => types.has(Type ?? ''))
      const text = event?.DisplayMessage || event?.Message || ''
      if (text !== '') return { task, text }
    }
  return undefined
}

/** Events that say how a task failed; `Not Restarting` follows each and says less. */
const FAILURES: ReadonlySet<string> = new Set([
  'Terminated',
  'Driver Failure',
  'Setup Failure',
  'Failed Artifact Download',
  'Failed Validation',
  'Task hook failed',
  'Failed Restoring Task',
])

const UNHEALTHY: ReadonlySet<string> = new Set([...FAILURES, 'Alloc Unhealthy', 'Restart Signaled'])

/** One line: it may hold what a task or a driver wrote. */
function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const max = LIMITS.failureReasonCharsMax
  return line.length > max ? `${line.slice(0, max)}…` : line
}
