import { chmod, lchown, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { findUser, type HostUser } from '../user.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { Beneath, partsBelow } from './beneath.ts'
import { diskFill, type DiskFill } from './disk-fill.ts'
import { measureDisk } from './disk-usage.ts'
import { memoryComplaint, mountMemory, unmountBelow } from './mounts.ts'
import { removeTree } from './remove-tree.ts'
import { errorCode, isMissing } from './state-file.ts'

/** The directories that an allocation and its tasks work in. */
export interface Workspace {
  /** False: there are paths and no directories. */
  readonly hasFiles: boolean
  /** Makes what all tasks share, closed to other users of the machine. Safe to repeat. */
  buildAllocation(allocationId: string): Promise<void>
  /**
   * Whether other users of the machine pass through the allocation's directory to what is below it.
   * Safe to repeat, also where the directory is gone.
   */
  setTraversable(allocationId: string, isTraversable: boolean): Promise<void>
  /** Makes the directories of one task, owned by its user. Safe to repeat. */
  buildTask(place: TaskPlace, owner: TaskOwner): Promise<void>
  /**
   * Gives the data of an ended allocation of this node, the shared one and that of each task, to
   * the one that follows it. What is not there is not missed.
   */
  moveData(fromId: string, toId: string, tasks: readonly string[]): Promise<void>
  /** Bytes that the allocation takes on the disk. */
  measure(allocationId: string): Promise<number>
  /** How full the file system of all allocations is. */
  fill(): Promise<DiskFill>
  /** Writes a file below the task's `local`. Fault `task-invalid` when the path leads out of it. */
  writeLocal(
    place: TaskPlace,
    file: { readonly path: string; readonly bytes: Uint8Array },
  ): Promise<void>
  paths(place: TaskPlace): TaskPaths
  /** The directory of the allocation itself: no task may write to it. */
  allocationDir(allocationId: string): string
  /**
   * Unmounts the secrets of an allocation that has ended; logs and data stay. Safe to repeat, also
   * where nothing is mounted or the directory is gone.
   */
  unmountSecrets(allocationId: string): Promise<void>
  /** Removes everything of the allocation, never across a mount point. */
  remove(allocationId: string): Promise<void>
}

export interface TaskOwner {
  /** Empty: the agent's own. */
  readonly user: string
  /** Of the directory for secrets, where that is kept in memory. */
  readonly secretsMB: number
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

/** The same paths wherever the directories are made. */
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

/** Passable and not listable by others. */
const PASSABLE = 0o711
const READABLE = 0o755
const SHARED_WRITABLE = 0o1777
const PRIVATE = 0o700

export class DiskWorkspace implements Workspace {
  readonly hasFiles = true
  readonly #root: string
  #keepsSecretsInMemory = false

  constructor(root: string) {
    this.#root = root
  }

  /** From now on. What cannot be: the complaint, and they stay on the disk. */
  async keepSecretsInMemory(): Promise<string | undefined> {
    await directory(this.#root, PASSABLE)
    const complaint = await memoryComplaint(this.#root)
    this.#keepsSecretsInMemory = complaint === undefined
    return complaint
  }

  async buildAllocation(allocationId: string): Promise<void> {
    await directory(this.#root, PASSABLE)
    const shared = join(this.#root, allocationId, SHARED)
    // A file that a task makes set-uid, or root in a container, must not run for users outside.
    await directory(join(this.#root, allocationId), PRIVATE)
    // Any task may create files here; the sticky bit keeps `logs` and `data` from being renamed.
    await directory(shared, SHARED_WRITABLE)
    await directory(join(shared, 'logs'), READABLE)
    await directory(join(shared, 'tmp'), SHARED_WRITABLE)
    await directory(join(shared, 'data'), SHARED_WRITABLE)
  }

  async setTraversable(allocationId: string, isTraversable: boolean): Promise<void> {
    const mode = isTraversable ? PASSABLE : PRIVATE
    await chmod(join(this.#root, allocationId), mode).catch((thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown
    })
  }

  async buildTask(place: TaskPlace, { user, secretsMB }: TaskOwner): Promise<void> {
    const owner = user === '' ? undefined : await findUser(user)
    const { taskDir, localDir, secretsDir } = this.paths(place)
    await directory(taskDir, READABLE, owner)
    await directory(localDir, READABLE, owner)
    await directory(join(taskDir, 'tmp'), PRIVATE, owner)
    // The agent's own: what it keeps about the task is not the task's to read.
    await directory(join(taskDir, 'private'), PRIVATE)
    await directory(secretsDir, PRIVATE, owner)
    if (!this.#keepsSecretsInMemory) return
    const sizeMB = secretsMB > 0 ? secretsMB : AGENT_LIMITS.secretsMB
    await mountMemory(secretsDir, { sizeMB, owner })
  }

  async moveData(fromId: string, toId: string, tasks: readonly string[]): Promise<void> {
    await moveDirectory(
      join(this.#root, fromId, SHARED, 'data'),
      join(this.#root, toId, SHARED, 'data'),
    )
    for (const task of tasks) {
      const from = this.paths({ allocationId: fromId, task }).localDir
      const to = this.paths({ allocationId: toId, task })
      await mkdir(to.taskDir, { recursive: true, mode: READABLE })
      await moveDirectory(from, to.localDir)
    }
  }

  async measure(allocationId: string): Promise<number> {
    const path = join(this.#root, allocationId)
    return (await measureDisk(path, AGENT_LIMITS.diskEntriesMax)).bytes
  }

  fill(): Promise<DiskFill> {
    return diskFill(this.#root)
  }

  async writeLocal(
    place: TaskPlace,
    { path, bytes }: { readonly path: string; readonly bytes: Uint8Array },
  ): Promise<void> {
    const parts = path.startsWith('/') ? [] : (partsBelow(path) ?? [])
    const name = parts.at(-1)
    if (name === undefined) {
      throw new Fault('task-invalid', `${JSON.stringify(path)} leads out of the local directory`)
    }
    const local = await Beneath.open(this.paths(place).localDir)
    try {
      const parent = { parts: parts.slice(0, -1), make: { mode: READABLE } }
      await local.within(parent, (inside) => inside.write(name, bytes, { mode: 0o644 }))
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

  async unmountSecrets(allocationId: string): Promise<void> {
    if (this.#keepsSecretsInMemory) await unmountBelow(join(this.#root, allocationId))
  }

  async remove(allocationId: string): Promise<void> {
    const path = join(this.#root, allocationId)
    await unmountBelow(path)
    // Entries that are links are removed as such, not followed.
    await removeTree(path)
  }
}

/** Knows the paths and makes nothing: for drivers that need no directories. */
export class PathsOnlyWorkspace implements Workspace {
  readonly hasFiles = false
  readonly #root: string

  constructor(root = '/nowhere') {
    this.#root = root
  }

  buildAllocation(): Promise<void> {
    return Promise.resolve()
  }

  setTraversable(): Promise<void> {
    return Promise.resolve()
  }

  buildTask(): Promise<void> {
    return Promise.resolve()
  }

  moveData(): Promise<void> {
    return Promise.resolve()
  }

  measure(): Promise<number> {
    return Promise.resolve(0)
  }

  fill(): Promise<DiskFill> {
    return Promise.resolve({ diskPercent: 0, inodePercent: 0 })
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

  unmountSecrets(): Promise<void> {
    return Promise.resolve()
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

/** In the place of an empty directory. What is not there, or was moved before, is left. */
async function moveDirectory(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw thrown
  }
}
