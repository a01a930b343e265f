import { chmod, lchown, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../kit/fault.ts'
import { findUser, type HostUser } from '../user.ts'
import { Beneath, partsBelow } from './beneath.ts'

/** The directories that an allocation and its tasks work in. */
export interface Workspace {
  /** Makes what all tasks share. Safe to repeat. */
  buildAllocation(allocationId: string): Promise<void>
  /** Makes the directories of one task, owned by its user. Safe to repeat. */
  buildTask(place: TaskPlace, user: string): Promise<void>
  /** Writes a file below the task's `local`. Fault `task-invalid` when the path leads out of it. */
  writeLocal(
    place: TaskPlace,
    file: { readonly path: string; readonly bytes: Uint8Array },
  ): Promise<void>
  paths(place: TaskPlace): TaskPaths
  /** The directory of the allocation itself: no task may write to it. */
  allocationDir(allocationId: string): string
  /** Removes everything of the allocation, never across a mount point. */
  remove(allocationId: string): Promise<void>
}

interface TaskPlace {
  readonly allocationId: string
  readonly task: string
}

export interface TaskPaths {
  /** Shared by the tasks of the allocation. */
  readonly allocDir: string
  readonly taskDir: string
  readonly localDir: string
  readonly secretsDir: string
  readonly stdout: string
  readonly stderr: string
}

/** Reference scheduling §33. The same paths wherever the directories are made. */
export function taskPaths(root: string, { allocationId, task }: TaskPlace): TaskPaths {
  const allocDir = join(root, allocationId, SHARED)
  const taskDir = join(root, allocationId, task)
  return {
    allocDir,
    taskDir,
    localDir: join(taskDir, 'local'),
    secretsDir: join(taskDir, 'secrets'),
    stdout: join(allocDir, 'logs', `${task}.stdout.0`),
    stderr: join(allocDir, 'logs', `${task}.stderr.0`),
  }
}

/** The directory that tasks share; so no task may have this name. */
export const SHARED = 'alloc'

/**
 * Directories are not listable by others, so an allocation's identifier is all that gives access by
 * path.
 */
const PASSABLE = 0o711
const READABLE = 0o755
const SHARED_WRITABLE = 0o1777
const PRIVATE = 0o700

export class DiskWorkspace implements Workspace {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  async buildAllocation(allocationId: string): Promise<void> {
    await directory(this.#root, PASSABLE)
    const shared = join(this.#root, allocationId, SHARED)
    await directory(join(this.#root, allocationId), PASSABLE)
    await directory(shared, READABLE)
    await directory(join(shared, 'logs'), READABLE)
    await directory(join(shared, 'tmp'), SHARED_WRITABLE)
    await directory(join(shared, 'data'), SHARED_WRITABLE)
  }

  async buildTask(place: TaskPlace, user: string): Promise<void> {
    const owner = user === '' ? undefined : await findUser(user)
    const { taskDir, localDir, secretsDir } = this.paths(place)
    await directory(taskDir, READABLE, owner)
    await directory(localDir, READABLE, owner)
    await directory(join(taskDir, 'tmp'), PRIVATE, owner)
    await directory(secretsDir, PRIVATE, owner)
  }

  async writeLocal(
    place: TaskPlace,
    { path, bytes }: { readonly path: string; readonly bytes: Uint8Array },
  ): Promise<void> {
    const parts = partsBelow(path) ?? []
    const name = parts.at(-1)
    if (name === undefined) {
      throw new Fault('task-invalid', `${JSON.stringify(path)} leads out of the local directory`)
    }
    const local = await Beneath.open(this.paths(place).localDir)
    try {
      const parent = await local.directory(parts.slice(0, -1), { mode: READABLE })
      await parent.write(name, bytes, { mode: 0o644 }).finally(() => parent.close())
    } finally {
      await local.close()
    }
  }

  paths(place: TaskPlace): TaskPaths {
    return taskPaths(this.#root, place)
  }

  allocationDir(allocationId: string): string {
    return join(this.#root, allocationId)
  }

  async remove(allocationId: string): Promise<void> {
    const path = join(this.#root, allocationId)
    const mounts = await mountsBelow(path)
    if (mounts.length > 0) {
      throw new Fault('agent-state', `${path} is not removed: ${mounts.join(', ')} is mounted`)
    }
    await rm(path, { recursive: true, force: true })
  }
}

/** Knows the paths and makes nothing: for drivers that need no directories. */
export class PathsOnlyWorkspace implements Workspace {
  readonly #root: string

  constructor(root = '/nowhere') {
    this.#root = root
  }

  buildAllocation(): Promise<void> {
    return Promise.resolve()
  }

  buildTask(): Promise<void> {
    return Promise.resolve()
  }

  writeLocal(): Promise<void> {
    return Promise.resolve()
  }

  paths(place: TaskPlace): TaskPaths {
    return taskPaths(this.#root, place)
  }

  allocationDir(allocationId: string): string {
    return join(this.#root, allocationId)
  }

  remove(): Promise<void> {
    return Promise.resolve()
  }
}

async function directory(path: string, mode: number, owner?: HostUser): Promise<void> {
  await mkdir(path, { recursive: true, mode })
  // mkdir's mode is narrowed by the umask, and an agent may have ended right after it.
  await chmod(path, mode)
  if (owner !== undefined) await lchown(path, owner.uid, owner.gid)
}

async function mountsBelow(path: string): Promise<readonly string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  const points = table.split('\n').map((line) => unescapeMount(line.split(' ')[4] ?? ''))
  return points.filter((point) => point === path || point.startsWith(`${path}/`))
}

/** The kernel writes blanks in paths as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}
