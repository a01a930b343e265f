import type { Input, Job, Task, TaskGroup } from '@reeve/contract'
import { canonicalizeJob } from '../../src/model/index.ts'

/** The smallest job that may be registered; a test names only the fields it is about. */
export function aJob(fields: Input<Job> & { groups?: readonly Input<TaskGroup>[] } = {}): Job {
  const { groups, ...rest } = fields
  const TaskGroups = groups ?? rest.TaskGroups ?? [aGroup()]
  const input: Input<Job> = { ID: 'web', ...rest, TaskGroups }
  return canonicalizeJob(input, { region: 'global', namespace: 'default', nodePool: 'default' })
}

/** As submitted: `aJob` fills in the rest by the type of the job. */
export function aGroup(
  fields: Input<TaskGroup> & { tasks?: readonly Input<Task>[] } = {},
): Input<TaskGroup> {
  const { tasks, ...rest } = fields
  return { Name: 'app', ...rest, Tasks: tasks ?? rest.Tasks ?? [aTask()] }
}

export function aTask(fields: Input<Task> = {}): Input<Task> {
  return { Name: 'main', Driver: 'raw_exec', Config: { command: '/bin/true' }, ...fields }
}
