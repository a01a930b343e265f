import { stat } from 'node:fs/promises'
import type { VolumeMount, VolumeRequest } from '@reeve/contract'
import { errorMessage, Fault } from '@reeve/kit/fault.ts'
import { newArtifactHook } from '../artifact/artifact-hook.ts'
import type { ArtifactSettings } from '../artifact/fetch-artifact.ts'
import type { ServiceCatalog } from '../services/catalog-client.ts'
import type { TaskMount } from '../driver.ts'
import { getOwn } from '../node-info.ts'
import { propagationOf } from '../store/mounts.ts'
import { newTemplateHook } from '../template/template-manager.ts'
import { TemplateRenderer } from '../template/template-renderer.ts'
import { isValidTaskDirectoryName } from '../store/workspace.ts'
import type { TaskHook, TaskHookContext, TaskHookOrFactory } from './task-hook.ts'

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

/** A directory of the machine that the operator provides to jobs. */
interface HostVolume {
  readonly Path: string
  readonly ReadOnly: boolean
}

/** Host volumes of this node. */
interface NodeVolumes {
  /** Available volumes by name. */
  hostVolumes(): Readonly<Record<string, HostVolume>>
  /** Resolves when no restore of the volume is running or waiting. */
  waitForRestore(name: string): Promise<void>
}

/** Resolves the volumes that a task mounts. The driver mounts and unmounts them. */
function volumeHook(volumes?: NodeVolumes): TaskHook {
  return {
    name: 'volumes',
    runsOnce: false,
    applies: ({ task }) => (task.VolumeMounts ?? []).length > 0,
    async beforeStart(context) {
      if (context.isolation === 'none') {
        const driver = JSON.stringify(context.task.Driver)
        throw new Fault('task-invalid', `tasks of the driver ${driver} cannot mount volumes`)
      }
      const mounts: TaskMount[] = []
      for (const request of context.task.VolumeMounts ?? []) {
        const mount = await planMount(request, context, volumes)
        await requireDirectory(mount.hostPath)
        await requirePropagation(mount)
        mounts.push(mount)
      }
      return { mounts }
    },
  }
}

async function planMount(
  mount: VolumeMount,
  context: TaskHookContext,
  volumes: NodeVolumes | undefined,
): Promise<TaskMount> {
  const { interpolator } = context.environment
  const request = getOwn(context.assignment.group.Volumes ?? {}, mount.Volume)
  const volumeName = JSON.stringify(mount.Volume)
  if (request === undefined)
    throw new Fault('task-invalid', `the group has no volume ${volumeName}`)
  if (request.Type !== 'host') {
    throw new Fault(
      'task-invalid',
      `volume ${volumeName}: this node has no ${request.Type} volumes`,
    )
  }
  const source = volumeSourceOf(request, context)
  if (volumes !== undefined) await waitUnlessAborted(volumes.waitForRestore(source), context.signal)
  const volume = getOwn(volumes?.hostVolumes() ?? {}, source)
  if (volume === undefined) {
    throw new Fault('task-unstartable', `this node has no volume ${JSON.stringify(source)}`)
  }
  const readOnly = request.ReadOnly || mount.ReadOnly
  if (volume.ReadOnly && !readOnly) {
    throw new Fault('task-invalid', `volume ${JSON.stringify(source)} can only be read`)
  }
  const taskPath = interpolator.resolve(mount.Destination, 'VolumeMounts.Destination')
  if (!taskPath.startsWith('/') || /(^|\/)\.\.?(\/|$)|\0/.test(taskPath)) {
    throw new Fault(
      'task-invalid',
      `${JSON.stringify(taskPath)} is not a valid mount path of a volume`,
    )
  }
  const { PropagationMode: mode } = mount
  const hasPropagation = mode === 'host-to-task' || mode === 'bidirectional'
  return {
    hostPath: volume.Path,
    taskPath,
    readOnly,
    ...(hasPropagation ? { propagation: mode } : {}),
  }
}

/** Waits for the work, but only until the task is killed or the agent stops. */
async function waitUnlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const onAbort = (): void => resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([work, aborted])
  signal.removeEventListener('abort', onAbort)
}

/** Name of the volume with references resolved; a volume may exist per allocation. */
function volumeSourceOf(
  request: VolumeRequest,
  { environment, assignment }: TaskHookContext,
): string {
  const source = environment.interpolator.resolve(request.Source, 'Volumes.Source')
  if (!request.PerAlloc) return source
  return `${source}${/\[\d+\]$/.exec(assignment.allocation.Name)?.[0] ?? ''}`
}

/**
 * Checks the propagation of the mount: without a shared mount the kernel would silently propagate
 * nothing.
 */
async function requirePropagation({ hostPath, propagation }: TaskMount): Promise<void> {
  if (propagation === undefined) return
  const hostPropagation = await propagationOf(hostPath)
  if (
    hostPropagation === 'shared' ||
    (hostPropagation === 'slave' && propagation === 'host-to-task')
  )
    return
  throw new Fault(
    'task-unstartable',
    `propagation_mode "${propagation}" needs a shared mount, and that of ${hostPath} is ${hostPropagation}: run mount --make-shared on the node`,
  )
}

async function requireDirectory(path: string): Promise<void> {
  const stats = await stat(path).catch((thrown: unknown) => {
    throw new Fault('task-unstartable', `the volume cannot be used: ${errorMessage(thrown)}`)
  })
  if (!stats.isDirectory()) throw new Fault('task-unstartable', `${path} is not a directory`)
}
