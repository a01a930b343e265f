import { Fault } from '../../kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import { artifactHook } from '../artifact/artifact-hook.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Catalog } from '../catalog.ts'
import { templateHook } from '../template/template-hook.ts'
import { SHARED } from '../store/workspace.ts'
import type { TaskHookContext, TaskHookSource } from './task-hook.ts'

interface TaskHookOptions {
  /** Whether artifacts may come from files of this machine; off unless the operator says so. */
  readonly allowsFileArtifacts?: boolean
  /** What templates may ask the servers for; without it those that do are refused. */
  readonly catalog?: Catalog
}

/** Reference scheduling §25, step 3: what is done for each task, in this order. */
export function taskHooks(options: TaskHookOptions = {}): readonly TaskHookSource[] {
  return [
    ...FIRST_HOOKS,
    artifactHook({ allowsFiles: options.allowsFileArtifacts ?? false }),
    templateHook(options.catalog),
  ]
}

const FIRST_HOOKS: readonly TaskHookSource[] = [
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

/** For a node whose operator says nothing. */
export const TASK_HOOKS = taskHooks()

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
