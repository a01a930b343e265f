import { constants } from 'node:fs'
import {
  open,
  readlink,
  realpath,
  stat,
  type FileHandle,
  mkdir,
  readdir,
  readFile,
  rmdir,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { getuid } from 'node:process'
import type { TaskLaunch } from '../../agent/index.ts'
import {
  SafeDirectory,
  errorCode,
  isMissing,
  bindMountDescriptor,
  lazyUnmount,
  readMounts,
} from '../../agent/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { DockerConfig, MountConfig } from './docker-config.ts'
import { numberAt, stringAt } from './engine-client.ts'

export interface MountRules {
  readonly launch: TaskLaunch
  /** Whether paths outside the allocation may be mounted. */
  readonly allowsHostPaths: boolean
  /**
   * Socket of the engine, which gives root access to the host: no task may mount it. Undefined if
   * there is none.
   */
  readonly socketPath: string | undefined
  /** Directory that no task can write to, for pinned mounts; undefined: nothing can be pinned. */
  readonly stateDir: string | undefined
}

/** Mounts of a container in the format of the Engine API. */
export interface ContainerMounts {
  /** `host:container[:options]`. */
  readonly binds: readonly string[]
  readonly mounts: readonly MountConfig[]
  /** Reports whether a started container has these mounts; true if that cannot be verified. */
  areMountedIn(container: { readonly pid: number; readonly id: string }): Promise<boolean>
  /** Releases the pinned sources. Called after the container has started or failed to start. */
  release(): Promise<void>
}

/**
 * Validates the mounts before an image is pulled. Fault `task-config` for a path that is not
 * allowed. `openMounts` checks the paths again.
 */
export async function requireAllowedSources(
  config: DockerConfig,
  rules: MountRules,
): Promise<void> {
  const { volumes, volumeDriver, mounts } = config.storage
  for (const volume of volumes) {
    const { source } = parseVolume(volume)
    if (volumeDriver === undefined) await requireAllowedSource(source, rules)
  }
  for (const mount of mounts)
    if (mount.type === 'bind') await requireAllowedSource(mount.source, rules)
}

async function requireAllowedSource(source: string, rules: MountRules): Promise<void> {
  const path = absolutePathOf(source, rules.launch)
  if (!isInsideAny(path, allocationDirsOf(rules.launch))) {
    await requireHostPath(source, rules)
    return
  }
  const file = await openWithoutReading(path).catch((thrown: unknown) => {
    if (isMissing(thrown)) return undefined
    throw unmountableFault(source, thrown)
  })
  if (file === undefined) return
  try {
    await requireInsideAllocation(file, source, rules)
  } finally {
    await file.close()
  }
}

/**
 * Opens and pins all sources. The caller creates and starts the container, and then releases them.
 */
export async function openMounts(
  config: DockerConfig,
  rules: MountRules,
): Promise<ContainerMounts> {
  const { volumes, volumeDriver, mounts } = config.storage
  const canPin = rules.stateDir !== undefined && getuid?.() === 0
  const needsPins = volumes.length > 0 || mounts.some(({ type }) => type === 'bind')
  const pinnedPaths =
    canPin && needsPins && rules.stateDir !== undefined
      ? await PinnedPaths.open(rules.stateDir, rules.launch.handle.id)
      : undefined
  const release = async (): Promise<void> => pinnedPaths?.release()
  const openSource = (source: string): Promise<string> =>
    openSourceForEngine(source, rules, pinnedPaths)
  try {
    const binds: string[] = []
    for (const volume of volumes) {
      const { source, target, options } = parseVolume(volume)
      const hostPath = volumeDriver === undefined ? await openSource(source) : source
      binds.push([hostPath, target, ...(options === '' ? [] : [options])].join(':'))
    }
    const openedMounts: MountConfig[] = []
    for (const mount of mounts) {
      const isBind = mount.type === 'bind'
      openedMounts.push(isBind ? { ...mount, source: await openSource(mount.source) } : mount)
    }
    const areMountedIn: ContainerMounts['areMountedIn'] = async (container) => {
      return pinnedPaths === undefined || pinnedPaths.areMountedIn(container)
    }
    return { binds, mounts: openedMounts, areMountedIn, release }
  } catch (thrown) {
    await release()
    throw thrown
  }
}

/** Rejects a missing volume: an empty directory in its place would look like lost data. */
export async function requireVisibleMounts(
  container: unknown,
  mounts: ContainerMounts,
): Promise<void> {
  const [id, pid] = [stringAt(container, 'Id'), numberAt(container, 'State', 'Pid')]
  if (await mounts.areMountedIn({ id, pid })) return
  throw new Fault(
    'task-start',
    'volumes: the container engine does not see the mounts of the agent. Let both share a mount ' +
      'namespace (a service manager must not give the agent one of its own)',
  )
}

/** Returns the path of a source for the engine. */
async function openSourceForEngine(
  source: string,
  rules: MountRules,
  pins: PinnedPaths | undefined,
): Promise<string> {
  const { launch, allowsHostPaths } = rules
  const path = absolutePathOf(source, launch)
  if (!isInsideAny(path, allocationDirsOf(launch))) return requireHostPath(source, rules)
  const file = await openOrCreate(path, source, rules)
  try {
    const openedPath = await requireInsideAllocation(file, source, rules)
    if (pins !== undefined) return await pins.pin(file)
    // Only the agent writes to the parent directories of its own sources. If the node allows any
    // host path, a redirected path gives no further access.
    if (allowsHostPaths || (await isAgentCreatedDirectory(openedPath, launch))) return openedPath
  } finally {
    await file.close()
  }
  throw new Fault(
    'task-config',
    `volumes: ${JSON.stringify(source)} lies below a directory that tasks write to, and only an ` +
      'agent that runs as root can mount it safely; mount local, secrets or alloc as a whole',
  )
}

/**
 * Opens a source without following links on the way. A missing one is created as a directory, like
 * engines do.
 */
async function openOrCreate(path: string, source: string, rules: MountRules): Promise<FileHandle> {
  try {
    return await openWithoutReading(path)
  } catch (thrown) {
    if (!isMissing(thrown)) throw unmountableFault(source, thrown)
  }
  const allocationDir =
    allocationDirsOf(rules.launch).find((candidate) => isStrictlyInside(path, candidate)) ??
    rules.launch.taskDir
  try {
    const safeDirectory = await SafeDirectory.open(allocationDir)
    try {
      const parts = relative(allocationDir, path).split(sep)
      await (await safeDirectory.openSubdirectory(parts, { mode: 0o755 })).close()
    } finally {
      await safeDirectory.close()
    }
    return await openWithoutReading(path)
  } catch (thrown) {
    throw unmountableFault(source, thrown)
  }
}

/** Open flags: follow links, do not read, and do not block on a FIFO. */
export function openWithoutReading(path: string): Promise<FileHandle> {
  return open(path, O_PATH)
}

/** `O_PATH` of Linux, which is missing in the constants of Node. */
const O_PATH = 0o10000000 | constants.O_RDONLY

/** Returns the real path of an open file; replacing a link after it was opened has no effect. */
async function requireInsideAllocation(
  file: FileHandle,
  source: string,
  rules: MountRules,
): Promise<string> {
  const { launch, socketPath } = rules
  const openedPath = await readlink(`/proc/self/fd/${file.fd}`, BYTE_ENCODING)
  const allowedDirs = await Promise.all(
    allocationDirsOf(launch).map((allowedDir) => realpath(allowedDir, BYTE_ENCODING)),
  )
  if (!isInsideAny(openedPath, allowedDirs)) throw outsideAllocationFault(source)
  const { dev, ino } = await file.stat()
  const socket =
    socketPath === undefined ? undefined : await stat(socketPath).catch(() => undefined)
  if (socket?.dev === dev && socket.ino === ino) throw containsSocketFault(source)
  const [taskDir = ''] = allowedDirs
  if (openedPath === taskDir) {
    throw new Fault(
      'task-config',
      `volumes: ${JSON.stringify(source)} is the directory of the task itself; mount one below it`,
    )
  }
  if (
    isStrictlyInside(openedPath, join(taskDir, PRIVATE_DIR)) ||
    openedPath === join(taskDir, PRIVATE_DIR)
  ) {
    throw outsideAllocationFault(source)
  }
  return openedPath
}

/** Paths are compared as bytes, because file names need not be UTF-8. */
const BYTE_ENCODING = { encoding: 'latin1' } as const

/** Path below the task directory that the task may not read. */
const PRIVATE_DIR = 'private'

/** Reports whether the agent itself creates the path for the task. */
async function isAgentCreatedDirectory(openedPath: string, launch: TaskLaunch): Promise<boolean> {
  const { allocDir, localDir, secretsDir, taskDir } = launch
  const agentDirectories = [allocDir, localDir, secretsDir, join(taskDir, 'tmp')]
  const paths = await Promise.all(
    agentDirectories.map((path) => realpath(path, BYTE_ENCODING).catch(() => '')),
  )
  return paths.includes(openedPath)
}

/** Resolves a host path, if the node allows them. */
async function requireHostPath(source: string, rules: MountRules): Promise<string> {
  const { launch, allowsHostPaths, socketPath } = rules
  if (!allowsHostPaths) throw outsideAllocationFault(source)
  const resolvedPath = await resolveExistingPart(absolutePathOf(source, launch))
  const socket = socketPath === undefined ? undefined : await resolveExistingPart(socketPath)
  if (
    socket === resolvedPath ||
    socket?.startsWith(resolvedPath === sep ? sep : `${resolvedPath}${sep}`) === true
  ) {
    throw containsSocketFault(source)
  }
  return resolvedPath
}

/** Resolves a relative path, which is below the task directory. */
function absolutePathOf(source: string, { taskDir }: TaskLaunch): string {
  return isAbsolute(source) ? resolve(source) : resolve(taskDir, source)
}

function allocationDirsOf({ taskDir, allocDir }: TaskLaunch): readonly [string, string] {
  return [taskDir, allocDir]
}

function isInsideAny(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) => path === directory || isStrictlyInside(path, directory))
}

function isStrictlyInside(path: string, directory: string): boolean {
  return path.startsWith(`${directory}${sep}`)
}

/** Resolves links of a path; components that do not exist yet are kept as they are. */
async function resolveExistingPart(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (thrown) {
    if (!isMissing(thrown) || dirname(path) === path) throw thrown
    return join(await resolveExistingPart(dirname(path)), path.slice(dirname(path).length))
  }
}

function outsideAllocationFault(source: string): Fault {
  return new Fault('task-config', `volumes: ${JSON.stringify(source)} is outside the allocation`)
}

function containsSocketFault(source: string): Fault {
  const name = JSON.stringify(source)
  return new Fault('task-config', `volumes: ${name} holds the socket of the container engine`)
}

/** Error codes for a link loop, a file in the place of a directory, and a broken link. */
function unmountableFault(source: string, thrown: unknown): unknown {
  const code = errorCode(thrown)
  const isPathEscape = thrown instanceof Fault && thrown.kind === 'path-escape'
  if (!isPathEscape && !['ELOOP', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES'].includes(code ?? '')) {
    return thrown
  }
  const text = `volumes: ${JSON.stringify(source)} cannot be mounted: ${errorMessage(thrown)}`
  return new Fault('task-config', text, { cause: thrown })
}

/** Name of the directory below the state directory of the driver. */
const PINNED_MOUNTS_DIR = 'docker-mounts'

/**
 * Sources of the mounts of one container, bind-mounted in a directory that tasks cannot write to,
 * from its creation until its start. The engine opens sources by path: a task could replace a path
 * in its allocation by a link after it was checked, but not a mount in the agent's directory
 * (docs/contributing/decisions/0068-task-isolation.md).
 */
export class PinnedPaths {
  readonly #dir: string
  #count = 0

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** `id` identifies the start of the task. */
  static async open(stateDir: string, id: string): Promise<PinnedPaths> {
    const dir = join(stateDir, PINNED_MOUNTS_DIR, id)
    await mkdir(dir, { recursive: true, mode: 0o700 })
    // The mount table of the kernel contains real paths.
    return new PinnedPaths(await realpath(dir))
  }

  /** Releases mounts that a killed agent has left. Called before the first start. */
  static async releaseLeftovers(stateDir: string): Promise<void> {
    const names = await readdir(join(stateDir, PINNED_MOUNTS_DIR)).catch((thrown: unknown) => {
      if (isMissing(thrown)) return []
      throw thrown
    })
    for (const name of names) await (await PinnedPaths.open(stateDir, name)).release()
  }

  /**
   * Returns a path by which the engine can open the source, even if its original path is replaced.
   */
  async pin(file: FileHandle): Promise<string> {
    this.#count += 1
    const path = join(this.#dir, String(this.#count))
    if ((await file.stat()).isDirectory()) await mkdir(path, { mode: 0o700 })
    else await writeFile(path, '', { mode: 0o600, flag: 'wx' })
    await bindMountDescriptor(file.fd, path)
    return path
  }

  /**
   * Reports whether a started container has the pinned mounts: an engine in another mount namespace
   * mounts the empty directories below them. True if that cannot be verified.
   */
  async areMountedIn({ pid, id }: { readonly pid: number; readonly id: string }): Promise<boolean> {
    if (this.#count === 0 || pid <= 0 || id === '') return true
    // The PID may belong to another process if the engine runs in another PID namespace.
    const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
    if (!groups.includes(id)) return true
    const containerMounts = new Set(
      (await readMounts(pid)).map(({ deviceAndRoot }) => deviceAndRoot),
    )
    const pinnedMounts = (await readMounts('self')).filter(
      ({ mountPoint }) => dirname(mountPoint) === this.#dir,
    )
    // The container has ended meanwhile and has no mounts.
    return (
      containerMounts.size <= 1 ||
      pinnedMounts.every(({ deviceAndRoot }) => containerMounts.has(deviceAndRoot))
    )
  }

  /** Releases the pinned sources: a started container has mounts of its own. */
  async release(): Promise<void> {
    await this.#unpinAll()
    await rmdir(this.#dir)
  }

  /** Not recursive: an entry that is still mounted contains files of a task. */
  async #unpinAll(): Promise<void> {
    for (const name of await readdir(this.#dir)) {
      const path = join(this.#dir, name)
      await lazyUnmount(path)
      await rmdir(path).catch((thrown: unknown) => {
        if (errorCode(thrown) !== 'ENOTDIR') throw thrown
        return unlink(path)
      })
    }
  }
}

/** One entry of `volumes`: `source:target[:options]`. */
interface VolumeEntry {
  readonly source: string
  /** Absolute, inside the container. */
  readonly target: string
  /** Separated by commas; empty for the defaults of the engine. */
  readonly options: string
}

/**
 * Allowed options of a volume. Engines support more, some of which mount further host directories
 * (`O,upperdir=…`) or change the owner (`U`), so all others are rejected.
 */
const ALLOWED_VOLUME_OPTIONS: ReadonlySet<string> = new Set([
  'ro',
  'rw',
  'z',
  'Z',
  'nocopy',
  'private',
  'rprivate',
  'shared',
  'rshared',
  'slave',
  'rslave',
])

/** Parses a volume. Fault `task-config` if it is invalid or has an option that is not allowed. */
export function parseVolume(volume: string): VolumeEntry {
  const name = JSON.stringify(volume)
  const [source = '', target = '', options = '', ...extraParts] = volume.split(':')
  if (source === '' || !target.startsWith('/') || extraParts.length > 0) {
    throw new Fault('task-config', `volumes: ${name} is not source:target or source:target:options`)
  }
  // The engine would accept line breaks, but mount tables and logs are parsed by line.
  if (/\p{Cc}/u.test(volume)) {
    throw new Fault('task-config', `volumes: ${name} holds control characters`)
  }
  const unknownOption =
    options === ''
      ? undefined
      : options.split(',').find((option) => !ALLOWED_VOLUME_OPTIONS.has(option))
  if (unknownOption === undefined) return { source, target, options }
  throw new Fault(
    'task-config',
    `volumes: the option ${JSON.stringify(unknownOption)} of ${name} is not allowed; ` +
      `allowed are ${[...ALLOWED_VOLUME_OPTIONS].join(', ')}`,
  )
}

/** Adds the SELinux label of the node, unless the volume has one. */
export function addSelinuxLabel(bind: string, label: string): string {
  if (label === '') return bind
  const [source = '', target = '', options = ''] = bind.split(':')
  const parts = options === '' ? [] : options.split(',')
  if (parts.includes('z') || parts.includes('Z')) return bind
  return [source, target, [...parts, label].join(',')].join(':')
}
