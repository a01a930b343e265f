import { Fault } from '../../kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SHARED, type Workspace } from '../store/workspace.ts'

/**
 * One step on the way to a running task. Steps run in order before every start; each is safe to run
 * again after the agent was killed in the middle of it.
 */
export interface TaskHook {
  readonly name: string
  /** True: what it did lasts, so it is left out when the task starts again. */
  readonly once: boolean
  /** The event that announces it. */
  readonly announces?: string
  /** Whether this task needs it at all. */
  applies?(context: TaskHookContext): boolean
  /**
   * A Fault `task-invalid` or `task-unstartable` ends the task, any other is tried again by policy.
   */
  beforeStart(context: TaskHookContext): Promise<void>
}

interface TaskHookContext {
  readonly assignment: Assignment
  readonly task: AgentTask
  /** The user to run as, with references resolved. */
  readonly user: string
  readonly workspace: Workspace
  /** Fires when the task is killed or the agent stops. */
  readonly signal: AbortSignal
}

/** Reference scheduling §25, step 3: validate, directory, payload. */
export const TASK_HOOKS: readonly TaskHook[] = [
  { name: 'validate', once: false, beforeStart: validate },
  {
    name: 'task-dir',
    once: true,
    announces: 'Building Task Directory',
    beforeStart: buildDirectory,
  },
  {
    name: 'dispatch-payload',
    once: true,
    applies: ({ task }) => task.DispatchPayload !== null && task.DispatchPayload.File !== '',
    beforeStart: writePayload,
  },
]

async function validate({ assignment, task }: TaskHookContext): Promise<void> {
  const complaint = nameComplaint(task.Name) ?? needComplaint(assignment, task)
  if (complaint !== undefined) throw new Fault('task-invalid', complaint)
  await Promise.resolve()
}

/** The name becomes a directory beside the shared one, and part of file names. */
function nameComplaint(name: string): string | undefined {
  const bytes = Buffer.byteLength(name)
  const usable =
    bytes > 0 &&
    bytes <= AGENT_LIMITS.taskNameBytesMax &&
    !/[/\0]/.test(name) &&
    name !== '.' &&
    name !== '..' &&
    name !== SHARED
  return usable ? undefined : `task name ${JSON.stringify(name)} cannot be a directory`
}

/** A task that relies on something the node does not provide must not run without it. */
function needComplaint({ group }: Assignment, task: AgentTask): string | undefined {
  const needs = [
    { what: 'artifacts', wanted: (task.Artifacts ?? []).length > 0 },
    { what: 'templates', wanted: (task.Templates ?? []).length > 0 },
    { what: 'volume mounts', wanted: (task.VolumeMounts ?? []).length > 0 },
    { what: 'a network of its own', wanted: (group.Networks ?? []).some(isOwnNetwork) },
  ]
  const missing = needs.filter((need) => need.wanted).map((need) => need.what)
  return missing.length === 0 ? undefined : `this node does not provide ${missing.join(', ')}`
}

function isOwnNetwork({ Mode }: { readonly Mode: string }): boolean {
  return Mode !== '' && Mode !== 'host'
}

async function buildDirectory(context: TaskHookContext): Promise<void> {
  const { assignment, task, user, workspace } = context
  await workspace.buildTask({ allocationId: assignment.allocation.ID, task: task.Name }, user)
}

async function writePayload({ assignment, task, workspace }: TaskHookContext): Promise<void> {
  const place = { allocationId: assignment.allocation.ID, task: task.Name }
  const bytes = Buffer.from(assignment.job.Payload ?? '', 'base64')
  await workspace.writeLocal(place, { path: task.DispatchPayload?.File ?? '', bytes })
}
