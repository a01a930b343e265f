import type { Allocation } from '@reeve/contract'

/** What every tab of the allocation page is given. */
export interface AllocationView {
  readonly allocation: Allocation
  readonly search: URLSearchParams
}

/** The tasks of the allocation's group, in the order of the job file. */
export function tasksOf({ Job, TaskGroup, TaskStates }: Allocation): readonly string[] {
  const group = Job.TaskGroups.find(({ Name }) => Name === TaskGroup)
  const named = group?.Tasks.map(({ Name }) => Name) ?? []
  return named.length > 0 ? named : Object.keys(TaskStates ?? {})
}

/** The task that the address names, else one that has something to show. */
export function chosenTask(allocation: Allocation, search: URLSearchParams): string {
  const tasks = tasksOf(allocation)
  const asked = search.get('task')
  if (asked !== null && tasks.includes(asked)) return asked
  const isRunning = (task: string) => allocation.TaskStates?.[task]?.State === 'running'
  return tasks.find(isRunning) ?? tasks[0] ?? ''
}
