import { Fault } from '@reeve/kit/fault.ts'
import { artifactHook } from '../artifact/artifact-hook.ts'
import type { ArtifactSettings } from '../artifact/fetch-artifact.ts'
import type { Catalog } from '../catalog.ts'
import { templateHook } from '../template/template-hook.ts'
import { TemplateRenderer } from '../template/template-renderer.ts'
import { volumeHook, type NodeVolumes } from './volume-hook.ts'
import { isDirectoryName } from './task-name.ts'
import type { TaskHookContext, TaskHookSource } from './task-hook.ts'

interface TaskHookOptions {
  /** The operator's rules for artifacts. */
  readonly artifacts?: Partial<ArtifactSettings>
  /** Directories of this machine that jobs may mount; none unless given. */
  readonly volumes?: NodeVolumes
  /** What templates may ask the servers for; without it those that do are refused. */
  catalog?(context: TaskHookContext): Catalog
  /** Renders the templates of all tasks; one of its own unless given. */
  readonly renderer?: TemplateRenderer
}

/** What is done for each task, in this order. */
export function taskHooks(options: TaskHookOptions = {}): readonly TaskHookSource[] {
  return [
    ...FIRST_HOOKS,
    volumeHook(options.volumes),
    artifactHook(options.artifacts),
    templateHook(
      (context) => options.catalog?.(context),
      options.renderer ?? new TemplateRenderer(),
    ),
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

async function validate({ task }: TaskHookContext): Promise<void> {
  const complaint = nameComplaint(task.Name)
  if (complaint !== undefined) throw new Fault('task-invalid', complaint)
  await Promise.resolve()
}

function nameComplaint(name: string): string | undefined {
  return isDirectoryName(name)
    ? undefined
    : `task name ${JSON.stringify(name)} cannot be a directory`
}

async function buildDirectory(context: TaskHookContext): Promise<void> {
  const { assignment, task, user, workspace } = context
  const place = { allocationId: assignment.allocation.ID, task: task.Name }
  await workspace.buildTask(place, { user, secretsMB: task.Resources.SecretsMB ?? 0 })
}

async function writePayload({ assignment, task, workspace }: TaskHookContext): Promise<void> {
  const place = { allocationId: assignment.allocation.ID, task: task.Name }
  const bytes = Buffer.from(assignment.job.Payload ?? '', 'base64')
  await workspace.writeLocal(place, { path: task.DispatchPayload?.File ?? '', bytes })
}
