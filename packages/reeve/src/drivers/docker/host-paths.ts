import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { TaskLaunch } from '../../agent/index.ts'
import { isMissing } from '../../agent/index.ts'
import { Fault } from '../../kit/fault.ts'
import type { DockerConfig, MountConfig } from './docker-config.ts'

interface PathRules {
  readonly launch: TaskLaunch
  /** Whether paths outside the allocation may be mounted. */
  readonly allowOutside: boolean
  /** The engine's own socket is root on this machine: no task gets it. */
  readonly socketPath: string
}

/** The `volumes` of a task as the engine takes them. Fault `task-config` for one not allowed. */
export async function checkedBinds(
  config: DockerConfig,
  rules: PathRules,
): Promise<readonly string[]> {
  return Promise.all(
    config.storage.volumes.map(async (volume) => {
      const [source = '', target = '', ...options] = volume.split(':')
      if (source === '' || !target.startsWith('/') || options.length > 1) {
        throw new Fault('task-config', `volumes: ${JSON.stringify(volume)} is not source:target`)
      }
      const path = await checkedSource(source, rules)
      return [path, target, ...options].join(':')
    }),
  )
}

/** The `mount` blocks with the sources of binds resolved. */
export async function checkedMounts(
  mounts: readonly MountConfig[],
  rules: PathRules,
): Promise<readonly MountConfig[]> {
  return Promise.all(
    mounts.map(async (mount) => {
      if (mount.type !== 'bind') return mount
      return { ...mount, source: await checkedPath(mount.source, rules) }
    }),
  )
}

async function checkedSource(source: string, rules: PathRules): Promise<string> {
  const isPath = source.includes('/') || source.startsWith('.')
  if (isPath) return checkedPath(source, rules)
  if (rules.allowOutside) return source
  throw new Fault('task-config', `volumes: the volume ${source} is not allowed on this node`)
}

/** A relative path is one of the task's own. Links are followed before the question is asked. */
async function checkedPath(source: string, rules: PathRules): Promise<string> {
  const { launch, allowOutside, socketPath } = rules
  const path = isAbsolute(source) ? resolve(source) : resolve(launch.taskDir, source)
  const real = await realPath(path)
  const homes = await Promise.all([realPath(launch.taskDir), realPath(launch.allocDir)])
  const isInside = homes.some((home) => real === home || real.startsWith(`${home}${sep}`))
  const name = JSON.stringify(source)
  if (!isInside && !allowOutside) {
    throw new Fault('task-config', `volumes: ${name} is outside the allocation`)
  }
  const socket = await realPath(socketPath)
  if (socket === real || socket.startsWith(real === sep ? sep : `${real}${sep}`)) {
    throw new Fault('task-config', `volumes: ${name} holds the socket of the container engine`)
  }
  return real
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
