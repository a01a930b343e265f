import { Fault } from '@reeve/kit/fault.ts'
import { newArtifactHook } from '../artifact/artifact-hook.ts'
import type { ArtifactSettings } from '../artifact/fetch-artifact.ts'
import type { ServiceCatalog } from '../catalog.ts'
import { newTemplateHook } from '../template/template-hook.ts'
import { TemplateRenderer } from '../template/template-renderer.ts'
import { volumeHook, type NodeVolumes } from './volume-hook.ts'
import { isValidTaskDirectoryName } from './task-name.ts'
import type { TaskHookContext, TaskHookOrFactory } from './task-hook.ts'

interface TaskHookOptions {
  /** Operator settings for artifacts. */
  readonly artifacts?: Partial<ArtifactSettings>
  /** Host volumes that jobs may mount; none unless given. */
  readonly volumes?: NodeVolumes
  /** Catalog for templates; without it templates that use one are rejected. */
  catalogFor?(context: TaskHookContext): ServiceCatalog
  /** Renders the templates of all tasks; a new renderer unless given. */
  readonly templateRenderer?: TemplateRenderer
}

/** The hooks of every task, in order. */
export function buildTaskHooks(options: TaskHookOptions = {}): readonly TaskHookOrFactory[] {
  return [
    ...BASE_HOOKS,
    volumeHook(options.volumes),
    newArtifactHook(options.artifacts),
    newTemplateHook(
      (context) => options.catalogFor?.(context),
      options.templateRenderer ?? new TemplateRenderer(),
    ),
  ]
}

const BASE_HOOKS: readonly TaskHookOrFactory[] = [
  { name: 'validate', runsOnce: false, beforeStart: validateTaskName },
  {
    name: 'task-dir',
    runsOnce: true,
    eventMessage: 'Building Task Directory',
    beforeStart: buildTaskDirectory,
  },
  {
    name: 'dispatch-payload',
    runsOnce: true,
    applies: ({ task }) => task.DispatchPayload !== null && task.DispatchPayload.File !== '',
    beforeStart: writeDispatchPayload,
  },
]

/** Hooks with default settings. */
export const DEFAULT_TASK_HOOKS = buildTaskHooks()

async function validateTaskName({ task }: TaskHookContext): Promise<void> {
  const problem = taskNameProblem(task.Name)
  if (problem !== undefined) throw new Fault('task-invalid', problem)
  await Promise.resolve()
}

function taskNameProblem(name: string): string | undefined {
  return isValidTaskDirectoryName(name)
    ? undefined
    : `task name ${JSON.stringify(name)} cannot be a directory`
}

async function buildTaskDirectory(context: TaskHookContext): Promise<void> {
  const { assignment, task, user, workspace } = context
  const taskKey = { allocationId: assignment.allocation.ID, task: task.Name }
  await workspace.createTaskDirs(taskKey, { user, secretsMB: task.Resources.SecretsMB ?? 0 })
}

async function writeDispatchPayload({
  assignment,
  task,
  workspace,
}: TaskHookContext): Promise<void> {
  const taskKey = { allocationId: assignment.allocation.ID, task: task.Name }
  const bytes = Buffer.from(assignment.job.Payload ?? '', 'base64')
  await workspace.writeLocal(taskKey, { path: task.DispatchPayload?.File ?? '', bytes })
}
