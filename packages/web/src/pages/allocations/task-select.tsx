import type { Allocation } from '@reeve/contract'
import { hrefWith, navigate } from '../../routing/location.ts'
import { tasksOf } from './allocation-view.ts'

interface TaskSelectProps {
  readonly allocation: Allocation
  readonly current: string
  readonly id?: string
}

/** Which task of the allocation is looked at; the choice is in the address. */
export function TaskSelect({ allocation, current, id }: TaskSelectProps) {
  return (
    <select
      id={id}
      aria-label="Task"
      value={current}
      onChange={(event) => navigate(hrefWith({ task: event.target.value }), { replace: true })}
    >
      {tasksOf(allocation).map((task) => (
        <option key={task}>{task}</option>
      ))}
    </select>
  )
}
