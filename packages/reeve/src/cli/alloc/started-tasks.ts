import type { AllocationStub } from '@reeve/contract'

/** Returns the tasks that have started and can therefore have output. */
export function startedTasks({
  TaskStates,
}: Pick<AllocationStub, 'TaskStates'>): readonly string[] {
  const states = Object.entries(TaskStates ?? {})
  return states.filter(([, { StartedAt }]) => Date.parse(StartedAt) > 0).map(([name]) => name)
}
