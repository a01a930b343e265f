import type { AllocationStub } from '@reeve/contract'

/** A task that has not started has no output yet. */
export function startedTasks({
  TaskStates,
}: Pick<AllocationStub, 'TaskStates'>): readonly string[] {
  const states = Object.entries(TaskStates ?? {})
  return states.filter(([, { StartedAt }]) => Date.parse(StartedAt) > 0).map(([name]) => name)
}
