import { constants } from 'node:fs'
import { open, readlink, realpath, stat, type FileHandle } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { getuid } from 'node:process'
import type { TaskLaunch } from '../../agent/index.ts'
import { Beneath, errorCode, isMissing } from '../../agent/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { DockerConfig, MountConfig } from './docker-config.ts'
import { numberAt, textAt } from './engine.ts'
import { PinnedPaths } from './pinned-paths.ts'
import { parseVolume } from './volume.ts'

export interface PathRules {
  readonly launch: TaskLaunch
  /** Whether paths outside the allocation may be mounted. */
  readonly allowOutside: boolean
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
export async function checkPaths(config: DockerConfig, rules: PathRules): Promise<void> {
  const { volumes, volumeDriver, mounts } = config.storage
  for (const volume of volumes) {
    const { source } = parseVolume(volume)
    if (volumeDriver === undefined) await checkPath(source, rules)
  }
  for (const mount of mounts) if (mount.type === 'bind') await checkPath(mount.source, rules)
}

async function checkPath(source: string, rules: PathRules): Promise<void> {
  const path = absolute(source, rules.launch)
  if (!isBelowHomes(path, homesOf(rules.launch))) {
    await outsidePath(source, rules)
    return
  }
  const file = await openPath(path).catch((thrown: unknown) => {
    if (isMissing(thrown)) return undefined
    throw unusable(source, thrown)
  })
  if (file === undefined) return
  try {
    await requireInside(file, source, rules)
  } finally {
    await file.close()
  }
}

/**
 * Opens every source at the moment of use and pins it. The caller creates and starts the container,
 * then releases.
 */
export async function openMounts(config: DockerConfig, rules: PathRules): Promise<ContainerMounts> {
  const { volumes, volumeDriver, mounts } = config.storage
  const canPin = rules.stateDir !== undefined && getuid?.() === 0
  const wantsPins = volumes.length > 0 || mounts.some(({ type }) => type === 'bind')
  const pins =
    canPin && wantsPins && rules.stateDir !== undefined
      ? await PinnedPaths.open(rules.stateDir, rules.launch.handle.id)
      : undefined
  const release = async (): Promise<void> => pins?.release()
  const sourceOf = (source: string): Promise<string> => handOver(source, rules, pins)
  try {
    const binds: string[] = []
    for (const volume of volumes) {
      const { source, target, options } = parseVolume(volume)
      const from = volumeDriver === undefined ? await sourceOf(source) : source
      binds.push([from, target, ...(options === '' ? [] : [options])].join(':'))
    }
    const opened: MountConfig[] = []
    for (const mount of mounts) {
      const isBind = mount.type === 'bind'
      opened.push(isBind ? { ...mount, source: await sourceOf(mount.source) } : mount)
    }
    const areMountedIn: ContainerMounts['areMountedIn'] = async (container) => {
      return pins === undefined || pins.areMountedIn(container)
    }
    return { binds, mounts: opened, areMountedIn, release }
  } catch (thrown) {
    await release()
    throw thrown
  }
}

/** An empty directory in place of a volume would look like lost data. */
export async function requireMounts(container: unknown, mounts: ContainerMounts): Promise<void> {
  const [id, pid] = [textAt(container, 'Id'), numberAt(container, 'State', 'Pid')]
  if (await mounts.areMountedIn({ id, pid })) return
  throw new Fault(
    'task-start',
    'volumes: the container engine does not see the mounts of the agent. Let both share a mount ' +
      'namespace (a service manager must not give the agent one of its own)',
  )
}

/** The name by which the engine is given a source. */
async function handOver(
  source: string,
  rules: PathRules,
  pins: PinnedPaths | undefined,
): Promise<string> {
  const { launch, allowOutside } = rules
  const path = absolute(source, launch)
  if (!isBelowHomes(path, homesOf(launch))) return outsidePath(source, rules)
  const file = await openOrMake(path, source, rules)
  try {
    const real = await requireInside(file, source, rules)
    if (pins !== undefined) return await pins.add(file)
    // Nothing but the agent writes to the parents of these; where any path is allowed, the one that
    // a task could lead elsewhere is no worse.
    if (allowOutside || (await isFixed(real, launch))) return real
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
async function openOrMake(path: string, source: string, rules: PathRules): Promise<FileHandle> {
  try {
    return await openPath(path)
  } catch (thrown) {
    if (!isMissing(thrown)) throw unusable(source, thrown)
  }
  const home = homesOf(rules.launch).find((one) => isBelow(path, one)) ?? rules.launch.taskDir
  try {
    const beneath = await Beneath.open(home)
    try {
      const parts = relative(home, path).split(sep)
      await (await beneath.directory(parts, { mode: 0o755 })).close()
    } finally {
      await beneath.close()
    }
    return await openPath(path)
  } catch (thrown) {
    throw unusable(source, thrown)
  }
}

/** Follows links, reads nothing, and does not wait for the writer of a pipe. */
export function openPath(path: string): Promise<FileHandle> {
  return open(path, O_PATH)
}

/** Linux has it, the runtime's table of constants does not. */
const O_PATH = 0o10000000 | constants.O_RDONLY

/** Where what was opened really is; a link that is swapped afterwards changes nothing about it. */
async function requireInside(file: FileHandle, source: string, rules: PathRules): Promise<string> {
  const { launch, socketPath } = rules
  const real = await readlink(`/proc/self/fd/${file.fd}`, BYTES)
  const homes = await Promise.all(homesOf(launch).map((home) => realpath(home, BYTES)))
  if (!isBelowHomes(real, homes)) throw outside(source)
  const { dev, ino } = await file.stat()
  const socket =
    socketPath === undefined ? undefined : await stat(socketPath).catch(() => undefined)
  if (socket?.dev === dev && socket.ino === ino) throw holdsSocket(source)
  const [taskDir = ''] = homes
  if (real === taskDir) {
    throw new Fault(
      'task-config',
      `volumes: ${JSON.stringify(source)} is the directory of the task itself; mount one below it`,
    )
  }
  if (isBelow(real, join(taskDir, AGENT_OWN)) || real === join(taskDir, AGENT_OWN)) {
    throw outside(source)
  }
  return real
}

/** Paths are compared byte by byte: a name need not be UTF-8. */
const BYTES = { encoding: 'latin1' } as const

/** Below the task's directory, and not the task's to read. */
const AGENT_OWN = 'private'

/** Whether the path is one of the directories that the agent itself makes for the task. */
async function isFixed(real: string, launch: TaskLaunch): Promise<boolean> {
  const { allocDir, localDir, secretsDir, taskDir } = launch
  const fixed = [allocDir, localDir, secretsDir, join(taskDir, 'tmp')]
  const paths = await Promise.all(fixed.map((path) => realpath(path, BYTES).catch(() => '')))
  return paths.includes(real)
}

/** A path of the machine, where the node allows those. */
async function outsidePath(source: string, rules: PathRules): Promise<string> {
  const { launch, allowOutside, socketPath } = rules
  if (!allowOutside) throw outside(source)
  const real = await realPath(absolute(source, launch))
  const socket = socketPath === undefined ? undefined : await realPath(socketPath)
  if (socket === real || socket?.startsWith(real === sep ? sep : `${real}${sep}`) === true) {
    throw holdsSocket(source)
  }
  return real
}

/** A relative path is one of the task's own. */
function absolute(source: string, { taskDir }: TaskLaunch): string {
  return isAbsolute(source) ? resolve(source) : resolve(taskDir, source)
}

function homesOf({ taskDir, allocDir }: TaskLaunch): readonly [string, string] {
  return [taskDir, allocDir]
}

function isBelowHomes(path: string, homes: readonly string[]): boolean {
  return homes.some((home) => path === home || isBelow(path, home))
}

function isBelow(path: string, home: string): boolean {
  return path.startsWith(`${home}${sep}`)
}

/** Where a path leads; what of it does not exist yet is taken as written. */
async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (thrown) {
    if (!isMissing(thrown) || dirname(path) === path) throw thrown
    return join(await realPath(dirname(path)), path.slice(dirname(path).length))
  }
}

function outside(source: string): Fault {
  return new Fault('task-config', `volumes: ${JSON.stringify(source)} is outside the allocation`)
}

function holdsSocket(source: string): Fault {
  const name = JSON.stringify(source)
  return new Fault('task-config', `volumes: ${name} holds the socket of the container engine`)
}

/** A loop of links, a file in the place of a directory, a link on the way to what is missing. */
function unusable(source: string, thrown: unknown): unknown {
  const code = errorCode(thrown)
  const isPlanted = thrown instanceof Fault && thrown.kind === 'path-escape'
  if (!isPlanted && !['ELOOP', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES'].includes(code ?? '')) {
    return thrown
  }
  const text = `volumes: ${JSON.stringify(source)} cannot be mounted: ${errorMessage(thrown)}`
  return new Fault('task-config', text, { cause: thrown })
}
