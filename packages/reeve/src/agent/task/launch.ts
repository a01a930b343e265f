import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { TaskHandle, TaskLaunch } from '../driver.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { Workspace } from '../store/workspace.ts'
import { buildEnvironment } from './environment.ts'

interface LaunchInput {
  readonly assignment: Assignment
  readonly task: AgentTask
  readonly node: NodeFacts
  readonly workspace: Workspace
  readonly handle: TaskHandle
}

/** Reference scheduling §25, step 4: what the driver is asked, with every reference resolved. */
export function planLaunch({ assignment, task, node, workspace, handle }: LaunchInput): TaskLaunch {
  const paths = workspace.paths({ allocationId: assignment.allocation.ID, task: task.Name })
  const { env, interpolator } = buildEnvironment({ assignment, task, node, paths })
  const config = Object.entries(task.Config ?? {}).map(
    ([key, value]) => [key, interpolator.deep(value, key)] as const,
  )
  return {
    handle,
    config: Object.fromEntries(config),
    env,
    user: interpolator.text(task.User, 'User'),
    taskDir: paths.taskDir,
    logs: task.LogConfig.Disabled ? undefined : { stdout: paths.stdout, stderr: paths.stderr },
  }
}

interface HandleInput {
  readonly driver: string
  readonly allocationId: string
  readonly task: string
  readonly attempt: number
  /** Below this the drivers keep their records. */
  readonly recordsDir: string
  readonly bootId: string
}

/**
 * Reference task-drivers §4: the number of the attempt keeps a restart from meeting the records
 * before it.
 */
export function handleFor(input: HandleInput): TaskHandle {
  const { driver, allocationId, task, attempt, bootId } = input
  const hash = createHash('sha256').update(task).digest('hex').slice(0, 12)
  const id = `${allocationId}-${hash}-${attempt}`
  return { driver, id, allocationId, task, dir: join(input.recordsDir, id), bootId }
}
