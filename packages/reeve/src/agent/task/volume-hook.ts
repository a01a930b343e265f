import { stat } from 'node:fs/promises'
import type { VolumeMount, VolumeRequest } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { ownValue } from '../own-value.ts'
import { propagationOf } from '../store/mounts.ts'
import type { TaskMount } from '../task-launch.ts'
import type { TaskHook, TaskHookContext } from './task-hook.ts'

/** A directory of the machine that the operator lends to jobs. */
export interface HostVolume {
  readonly Path: string
  readonly ReadOnly: boolean
}

/** The volumes of this node. */
export interface NodeVolumes {
  /** The available ones, by name. */
  hostVolumes(): Readonly<Record<string, HostVolume>>
  /** Resolves when no restore of the volume is running or waiting. */
  restored(name: string): Promise<void>
}

/** Finds the volumes that a task mounts. The driver mounts them, and takes them away with it. */
export function volumeHook(volumes?: NodeVolumes): TaskHook {
  return {
    name: 'volumes',
    once: false,
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
  const request = ownValue(context.assignment.group.Volumes ?? {}, mount.Volume)
  const asked = JSON.stringify(mount.Volume)
  if (request === undefined) throw new Fault('task-invalid', `the group has no volume ${asked}`)
  if (request.Type !== 'host') {
    throw new Fault('task-invalid', `volume ${asked}: this node has no ${request.Type} volumes`)
  }
  const source = sourceOf(request, context)
  if (volumes !== undefined) await orAborted(volumes.restored(source), context.signal)
  const volume = ownValue(volumes?.hostVolumes() ?? {}, source)
  if (volume === undefined) {
    throw new Fault('task-unstartable', `this node has no volume ${JSON.stringify(source)}`)
  }
  const readOnly = request.ReadOnly || mount.ReadOnly
  if (volume.ReadOnly && !readOnly) {
    throw new Fault('task-invalid', `volume ${JSON.stringify(source)} can only be read`)
  }
  const taskPath = interpolator.text(mount.Destination, 'VolumeMounts.Destination')
  if (!taskPath.startsWith('/') || /(^|\/)\.\.?(\/|$)|\0/.test(taskPath)) {
    throw new Fault('task-invalid', `${JSON.stringify(taskPath)} is no place for a volume`)
  }
  const { PropagationMode: mode } = mount
  const isPassedOn = mode === 'host-to-task' || mode === 'bidirectional'
  return {
    hostPath: volume.Path,
    taskPath,
    readOnly,
    ...(isPassedOn ? { propagation: mode } : {}),
  }
}

/** Waits for the work, but no longer than until the task is killed or the agent stops. */
async function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const stop = (): void => resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([work, aborted])
  signal.removeEventListener('abort', stop)
}

/** The name may have references; each allocation may have its own. */
function sourceOf(request: VolumeRequest, { environment, assignment }: TaskHookContext): string {
  const source = environment.interpolator.text(request.Source, 'Volumes.Source')
  if (!request.PerAlloc) return source
  return `${source}${/\[\d+\]$/.exec(assignment.allocation.Name)?.[0] ?? ''}`
}

/** Where the host shares nothing, the kernel would pass nothing on and say nothing. */
async function requirePropagation({ hostPath, propagation }: TaskMount): Promise<void> {
  if (propagation === undefined) return
  const found = await propagationOf(hostPath)
  if (found === 'shared' || (found === 'slave' && propagation === 'host-to-task')) return
  throw new Fault(
    'task-unstartable',
    `propagation_mode "${propagation}" needs a shared mount, and that of ${hostPath} is ${found}: run mount --make-shared on the node`,
  )
}

async function requireDirectory(path: string): Promise<void> {
  const found = await stat(path).catch((thrown: unknown) => {
    throw new Fault('task-unstartable', `the volume cannot be used: ${errorMessage(thrown)}`)
  })
  if (!found.isDirectory()) throw new Fault('task-unstartable', `${path} is not a directory`)
}
