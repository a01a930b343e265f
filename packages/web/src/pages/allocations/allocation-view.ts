import type { Allocation } from '@reeve/contract'

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
