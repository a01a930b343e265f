import type { Allocation } from '@reeve/contract'
import { hrefWith, navigate } from '../../routing/location.ts'
import { taskNames } from './allocation-view.ts'

interface TaskSelectProps {
  readonly allocation: Allocation
  readonly current: string
  readonly id?: string
}

/** Selects the shown task; the selection is part of the URL. */
export function TaskSelect({ allocation, current, id }: TaskSelectProps) {
  return (
    <select
      id={id}
      aria-label="Task"
      value={current}
      onChange={(event) => navigate(hrefWith({ task: event.target.value }), { replace: true })}
    >
      {taskNames(allocation).map((task) => (
        <option key={task}>{task}</option>
      ))}
    </select>
  )
}
