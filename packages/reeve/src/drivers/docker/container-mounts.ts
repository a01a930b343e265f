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
  /** The engine's own socket is root on this machine: no task gets it. Undefined: it has none. */
  readonly socketPath: string | undefined
  /** A directory that no task can write to; undefined: nothing can be pinned. */
  readonly stateDir: string | undefined
}

/** What a container mounts, as the engine takes it. */
export interface ContainerMounts {
  /** `host:container[:options]`. */
  readonly binds: readonly string[]
  readonly mounts: readonly MountConfig[]
  /** Whether a container that was started has them, as far as can be found out. */
  areMountedIn(container: { readonly pid: number; readonly id: string }): Promise<boolean>
  /** To be called once the container has started, or could not be. */
  release(): Promise<void>
}

/**
 * Rejects early, before an image is pulled. Fault `task-config` for a path that is not allowed. A
 * path that passes is checked again by `openMounts`.
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
 * Opens every source at the moment of use and pins it. The caller creates and starts the container,
 * then releases.
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

/** An empty directory in place of a volume would look like lost data. */
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

/** The name by which the engine is given a source. */
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
    // Nothing but the agent writes to the parents of these; where any path is allowed, the one that
    // a task could lead elsewhere is no worse.
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

/** A missing source is a new directory, as engines make one; no link is followed on the way. */
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

/** Follows links, reads nothing, and does not wait for the writer of a pipe. */
export function openWithoutReading(path: string): Promise<FileHandle> {
  return open(path, O_PATH)
}

/** Linux has it, the runtime's table of constants does not. */
const O_PATH = 0o10000000 | constants.O_RDONLY

/** Where what was opened really is; a link that is swapped afterwards changes nothing about it. */
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

/** Paths are compared byte by byte: a name need not be UTF-8. */
const BYTE_ENCODING = { encoding: 'latin1' } as const

/** Below the task's directory, and not the task's to read. */
const PRIVATE_DIR = 'private'

/** Whether the path is one of the directories that the agent itself makes for the task. */
async function isAgentCreatedDirectory(openedPath: string, launch: TaskLaunch): Promise<boolean> {
  const { allocDir, localDir, secretsDir, taskDir } = launch
  const agentDirectories = [allocDir, localDir, secretsDir, join(taskDir, 'tmp')]
  const paths = await Promise.all(
    agentDirectories.map((path) => realpath(path, BYTE_ENCODING).catch(() => '')),
  )
  return paths.includes(openedPath)
}

/** A path of the machine, where the node allows those. */
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

/** A relative path is one of the task's own. */
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

/** Where a path leads; what of it does not exist yet is taken as written. */
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

/** A loop of links, a file in the place of a directory, a link on the way to what is missing. */
function unmountableFault(source: string, thrown: unknown): unknown {
  const code = errorCode(thrown)
  const isPathEscape = thrown instanceof Fault && thrown.kind === 'path-escape'
  if (!isPathEscape && !['ELOOP', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES'].includes(code ?? '')) {
    return thrown
  }
  const text = `volumes: ${JSON.stringify(source)} cannot be mounted: ${errorMessage(thrown)}`
  return new Fault('task-config', text, { cause: thrown })
}

/** Below the state directory of the driver. */
const PINNED_MOUNTS_DIR = 'docker-mounts'

/**
 * The sources of one container's mounts, bound where no task can write, for the time between its
 * creation and its start. The engine opens its sources by name: a name inside an allocation can be
 * replaced by a link between a check and that moment, a mount in the agent's own directory cannot
 * (docs/contributing/decisions/0068-task-isolation.md).
 */
export class PinnedPaths {
  readonly #dir: string
  #count = 0

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** `id` is that of the start. */
  static async open(stateDir: string, id: string): Promise<PinnedPaths> {
    const dir = join(stateDir, PINNED_MOUNTS_DIR, id)
    await mkdir(dir, { recursive: true, mode: 0o700 })
    // The kernel tells mounts by their real paths.
    return new PinnedPaths(await realpath(dir))
  }

  /** Releases what an agent left that was killed in between. Called before the first start. */
  static async releaseLeftovers(stateDir: string): Promise<void> {
    const names = await readdir(join(stateDir, PINNED_MOUNTS_DIR)).catch((thrown: unknown) => {
      if (isMissing(thrown)) return []
      throw thrown
    })
    for (const name of names) await (await PinnedPaths.open(stateDir, name)).release()
  }

  /** The name under which the engine finds what is open, whatever becomes of its old name. */
  async pin(file: FileHandle): Promise<string> {
    this.#count += 1
    const path = join(this.#dir, String(this.#count))
    if ((await file.stat()).isDirectory()) await mkdir(path, { mode: 0o700 })
    else await writeFile(path, '', { mode: 0o600, flag: 'wx' })
    await bindMountDescriptor(file.fd, path)
    return path
  }

  /**
   * Whether a container that was started has what is pinned here: an engine that does not see the
   * mounts of the agent mounts the empty places below them. True where that cannot be found out.
   */
  async areMountedIn({ pid, id }: { readonly pid: number; readonly id: string }): Promise<boolean> {
    if (this.#count === 0 || pid <= 0 || id === '') return true
    // The number may be that of another process here, when the engine counts its own.
    const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
    if (!groups.includes(id)) return true
    const containerMounts = new Set(
      (await readMounts(pid)).map(({ deviceAndRoot }) => deviceAndRoot),
    )
    const pinnedMounts = (await readMounts('self')).filter(
      ({ mountPoint }) => dirname(mountPoint) === this.#dir,
    )
    // A container that has ended meanwhile has no mounts at all.
    return (
      containerMounts.size <= 1 ||
      pinnedMounts.every(({ deviceAndRoot }) => containerMounts.has(deviceAndRoot))
    )
  }

  /** The mounts of a container that has started are its own: these are needed no longer. */
  async release(): Promise<void> {
    await this.#unpinAll()
    await rmdir(this.#dir)
  }

  /** Never recursive: an entry that is still mounted holds files of a task. */
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
  /** Joined by commas; empty: the engine's defaults. */
  readonly options: string
}

/**
 * What the option text of a volume may hold. Engines know more, some of which mount further host
 * directories (`O,upperdir=…`) or change their owner (`U`), so anything else is rejected.
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

/** Fault `task-config` for what is not a volume, or has an option that is not allowed. */
export function parseVolume(volume: string): VolumeEntry {
  const name = JSON.stringify(volume)
  const [source = '', target = '', options = '', ...extraParts] = volume.split(':')
  if (source === '' || !target.startsWith('/') || extraParts.length > 0) {
    throw new Fault('task-config', `volumes: ${name} is not source:target or source:target:options`)
  }
  // The engine would take them; tables of mounts and logs are read line by line.
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

/** Adds the label that the node gives all its volumes, unless the volume has one of its own. */
export function addSelinuxLabel(bind: string, label: string): string {
  if (label === '') return bind
  const [source = '', target = '', options = ''] = bind.split(':')
  const parts = options === '' ? [] : options.split(',')
  if (parts.includes('z') || parts.includes('Z')) return bind
  return [source, target, [...parts, label].join(',')].join(':')
}
