import type { Allocation } from '@reeve/contract'
import { hrefWith, navigate } from '../../routing/location.ts'

/** Props of every tab of the allocation page. */
export interface AllocationView {
  readonly allocation: Allocation
  readonly search: URLSearchParams
}

/** Returns the names of the tasks, in the order of the job file. */
export function taskNames({ Job, TaskGroup, TaskStates }: Allocation): readonly string[] {
  const group = Job.TaskGroups.find(({ Name }) => Name === TaskGroup)
  const namesInJob = group?.Tasks.map(({ Name }) => Name) ?? []
  return namesInJob.length > 0 ? namesInJob : Object.keys(TaskStates ?? {})
}

/** Returns the task named in the URL, or else a running one. */
export function selectedTask(allocation: Allocation, search: URLSearchParams): string {
  const tasks = taskNames(allocation)
  const requested = search.get('task')
  if (requested !== null && tasks.includes(requested)) return requested
  const isRunning = (task: string) => allocation.TaskStates?.[task]?.State === 'running'
  return tasks.find(isRunning) ?? tasks[0] ?? ''
}

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
