import { chmod, lchown, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { LIMITS } from '../../model/index.ts'
import type { TaskIsolation } from '../driver.ts'
import { getHostUser, type HostUser } from '../host-user.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory, containedPathParts, removeTree } from './safe-directory.ts'
import { directorySize, diskUsagePercent, type DiskUsagePercent } from './disk-usage.ts'
import { probeTmpfs, mountTmpfs, unmountAll } from './mounts.ts'
import { errorCode, isMissing } from './state-file.ts'

/** Directories of allocations and tasks. */
export interface Workspace {
  /** False: paths are computed, but no directories exist. */
  readonly hasFiles: boolean
  /** Directory of all allocations. */
  readonly root: string
  /** Creates the shared directories, closed to other users of the machine. Idempotent. */
  createAllocationDirs(allocationId: string): Promise<void>
  /**
   * Sets whether other users of the machine can traverse the allocation directory. Idempotent, even
   * if the directory is gone.
   */
  setTraversable(allocationId: string, isTraversable: boolean): Promise<void>
  /** Creates the directories of a task, owned by its user. Idempotent. */
  createTaskDirs(place: TaskKey, owner: TaskDirOptions): Promise<void>
  /**
   * Moves the data of a terminal allocation of this node, shared and per task, to its replacement.
   * Missing directories are skipped.
   */
  adoptData(fromId: string, toId: string, tasks: readonly string[]): Promise<void>
  /** Disk usage of the allocation in bytes. */
  allocationSize(allocationId: string): Promise<number>
  /** Usage of the file system of all allocations. */
  diskUsage(): Promise<DiskUsagePercent>
  /**
   * Writes a file below the task's `local` directory. Fault `task-invalid` if the path leads out.
   */
  writeLocal(
    place: TaskKey,
    file: { readonly path: string; readonly bytes: Uint8Array },
  ): Promise<void>
  paths(place: TaskKey): TaskPaths
  /** The allocation directory itself, which no task can write to. */
  allocationDir(allocationId: string): string
  /**
   * Unmounts the secrets of a terminal allocation; logs and data stay. Idempotent, even if nothing
   * is mounted.
   */
  unmountSecrets(allocationId: string): Promise<void>
  /** Removes all data of the allocation, never across a mount point. */
  remove(allocationId: string): Promise<void>
}

interface TaskDirOptions {
  /** Empty: the user of the agent. */
  readonly user: string
  /** Size of the secrets directory if it is a tmpfs. */
  readonly secretsMB: number
}

interface TaskKey {
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

/** Paths of a task, independent of how directories are created. */
export function taskPaths(root: string, { allocationId, task }: TaskKey): TaskPaths {
  const allocDir = join(root, allocationId, SHARED_DIR)
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

/** The shared directory; no task can have this name. */
const SHARED_DIR = 'alloc'

/** Mode: traversable but not listable by others. */
const TRAVERSE_ONLY = 0o711
const WORLD_READABLE = 0o755
const WORLD_WRITABLE_STICKY = 0o1777
const OWNER_ONLY = 0o700

export class DiskWorkspace implements Workspace {
  readonly hasFiles = true
  readonly root: string
  #usesTmpfsForSecrets = false

  constructor(root: string) {
    this.root = root
  }

  /**
   * Puts secrets directories on tmpfs from now on; returns the problem if tmpfs cannot be mounted.
   */
  async enableTmpfsSecrets(): Promise<string | undefined> {
    await createDirectory(this.root, TRAVERSE_ONLY)
    const problem = await probeTmpfs(this.root)
    this.#usesTmpfsForSecrets = problem === undefined
    return problem
  }

  async createAllocationDirs(allocationId: string): Promise<void> {
    await createDirectory(this.root, TRAVERSE_ONLY)
    const shared = join(this.root, allocationId, SHARED_DIR)
    // A set-uid file of a task, or of root in a container, must not be executable by users outside.
    await createDirectory(join(this.root, allocationId), OWNER_ONLY)
    // Any task may create files here; the sticky bit protects `logs` and `data` from being renamed.
    await createDirectory(shared, WORLD_WRITABLE_STICKY)
    await createDirectory(join(shared, 'logs'), WORLD_READABLE)
    await createDirectory(join(shared, 'tmp'), WORLD_WRITABLE_STICKY)
    await createDirectory(join(shared, 'data'), WORLD_WRITABLE_STICKY)
  }

  async setTraversable(allocationId: string, isTraversable: boolean): Promise<void> {
    const mode = isTraversable ? TRAVERSE_ONLY : OWNER_ONLY
    await chmod(join(this.root, allocationId), mode).catch((thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown
    })
  }

  async createTaskDirs(taskKey: TaskKey, { user, secretsMB }: TaskDirOptions): Promise<void> {
    const owner = user === '' ? undefined : await getHostUser(user)
    const { taskDir, localDir, secretsDir } = this.paths(taskKey)
    await createDirectory(taskDir, WORLD_READABLE, owner)
    await createDirectory(localDir, WORLD_READABLE, owner)
    await createDirectory(join(taskDir, 'tmp'), OWNER_ONLY, owner)
    // Only for the agent: the task must not read what is stored about it.
    await createDirectory(join(taskDir, 'private'), OWNER_ONLY)
    await createDirectory(secretsDir, OWNER_ONLY, owner)
    if (!this.#usesTmpfsForSecrets) return
    const sizeMB = secretsMB > 0 ? secretsMB : AGENT_LIMITS.secretsMB
    await mountTmpfs(secretsDir, { sizeMB, owner })
  }

  async adoptData(fromId: string, toId: string, tasks: readonly string[]): Promise<void> {
    await moveIntoEmptyDirectory(
      join(this.root, fromId, SHARED_DIR, 'data'),
      join(this.root, toId, SHARED_DIR, 'data'),
    )
    for (const task of tasks) {
      const from = this.paths({ allocationId: fromId, task }).localDir
      const to = this.paths({ allocationId: toId, task })
      await mkdir(to.taskDir, { recursive: true, mode: WORLD_READABLE })
      await moveIntoEmptyDirectory(from, to.localDir)
    }
  }

  async allocationSize(allocationId: string): Promise<number> {
    const path = join(this.root, allocationId)
    return (await directorySize(path, AGENT_LIMITS.measuredDiskEntriesMax)).bytes
  }

  diskUsage(): Promise<DiskUsagePercent> {
    return diskUsagePercent(this.root)
  }

  async writeLocal(
    taskKey: TaskKey,
    { path, bytes }: { readonly path: string; readonly bytes: Uint8Array },
  ): Promise<void> {
    const parts = path.startsWith('/') ? [] : (containedPathParts(path) ?? [])
    const name = parts.at(-1)
    if (name === undefined) {
      throw new Fault('task-invalid', `${JSON.stringify(path)} leads out of the local directory`)
    }
    const local = await SafeDirectory.open(this.paths(taskKey).localDir)
    try {
      const parent = { parts: parts.slice(0, -1), make: { mode: WORLD_READABLE } }
      await local.withSubdirectory(parent, (parentDirectory) =>
        parentDirectory.writeFile(name, bytes, { mode: 0o644 }),
      )
    } finally {
      await local.close()
    }
  }

  paths(taskKey: TaskKey): TaskPaths {
    return taskPaths(this.root, taskKey)
  }

  allocationDir(allocationId: string): string {
    return join(this.root, allocationId)
  }

  async unmountSecrets(allocationId: string): Promise<void> {
    if (this.#usesTmpfsForSecrets) await unmountAll(join(this.root, allocationId))
  }

  async remove(allocationId: string): Promise<void> {
    const path = join(this.root, allocationId)
    await unmountAll(path)
    // Links are removed and not followed.
    await removeTree(path)
  }
}

/** Computes paths but creates no directories: for drivers that need none. */
export class NoopWorkspace implements Workspace {
  readonly hasFiles = false
  readonly root: string

  constructor(root = '/nowhere') {
    this.root = root
  }

  createAllocationDirs(): Promise<void> {
    return Promise.resolve()
  }

  setTraversable(): Promise<void> {
    return Promise.resolve()
  }

  createTaskDirs(): Promise<void> {
    return Promise.resolve()
  }

  adoptData(): Promise<void> {
    return Promise.resolve()
  }

  allocationSize(): Promise<number> {
    return Promise.resolve(0)
  }

  diskUsage(): Promise<DiskUsagePercent> {
    return Promise.resolve({ diskPercent: 0, inodePercent: 0 })
  }

  writeLocal(): Promise<void> {
    return Promise.resolve()
  }

  paths(place: TaskKey): TaskPaths {
    return taskPaths(this.root, place)
  }

  allocationDir(allocationId: string): string {
    return join(this.root, allocationId)
  }

  unmountSecrets(): Promise<void> {
    return Promise.resolve()
  }

  remove(): Promise<void> {
    return Promise.resolve()
  }
}

async function createDirectory(path: string, mode: number, owner?: HostUser): Promise<void> {
  await mkdir(path, { recursive: true, mode })
  // The mode of mkdir is limited by the umask, and an agent may have been killed right after it.
  await chmod(path, mode)
  if (owner !== undefined) await lchown(path, owner.uid, owner.gid)
}

/** Moves a directory over an empty one. Missing directories, and ones moved before, are skipped. */
async function moveIntoEmptyDirectory(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw thrown
  }
}

/** A path below a directory that the agent owns. */
export interface ContainedPath {
  readonly root: string
  readonly parts: readonly string[]
}

/**
 * Resolves a path of a job to the task's own directory or the shared one. The path may be relative,
 * or in the task's view. Fault `task-invalid` if it leads out.
 */
export function resolveTaskPath(
  path: string,
  { paths, isolation }: { readonly paths: TaskPaths; readonly isolation: TaskIsolation },
): ContainedPath {
  for (const [prefix, root] of visibleDirectories(paths, isolation)) {
    if (path !== prefix && !path.startsWith(`${prefix}/`)) continue
    return { root, parts: requireContainedParts(path, path.slice(prefix.length)) }
  }
  return { root: paths.taskDir, parts: requireContainedParts(path, path) }
}

/** Whether a path begins with a directory that the task can see. */
export function isTaskVisiblePath(
  path: string,
  { paths, isolation }: { readonly paths: TaskPaths; readonly isolation: TaskIsolation },
): boolean {
  const visible = visibleDirectories(paths, isolation).map(([directory]) => directory)
  const taskDirectories = isolation === 'none' ? [] : ISOLATED_TASK_DIRECTORIES
  return [...visible, ...taskDirectories].some((directory) => path.startsWith(`${directory}/`))
}

/** Directories of an isolated task's root. */
const ISOLATED_TASK_DIRECTORIES = ['/local', '/secrets'] as const

function visibleDirectories(
  paths: TaskPaths,
  isolation: TaskIsolation,
): readonly (readonly [string, string])[] {
  const onHost = [
    [paths.allocDir, paths.allocDir],
    [paths.taskDir, paths.taskDir],
  ] as const
  return isolation === 'none' ? onHost : [...onHost, ['/alloc', paths.allocDir]]
}

function requireContainedParts(path: string, relativePath: string): readonly string[] {
  const parts = containedPathParts(relativePath)
  if (parts !== undefined) return parts
  throw new Fault('task-invalid', `${JSON.stringify(path)} leads out of the task's directory`)
}

/**
 * Whether a task's name is valid as a directory beside the shared one, and in file names. Names
 * with a leading dot are reserved for the agent.
 */
export function isValidTaskDirectoryName(name: string): boolean {
  const bytes = Buffer.byteLength(name)
  return (
    bytes > 0 &&
    bytes <= LIMITS.taskNameBytesMax &&
    !/[/\0]/.test(name) &&
    !name.startsWith('.') &&
    name !== SHARED_DIR
  )
}
