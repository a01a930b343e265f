import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, realpath, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** An entry of the mount table. */
interface MountEntry {
  readonly mountPoint: string
  /** Device and path on it, which identify the mounted file system. */
  readonly deviceAndRoot: string
}

/** Mounts in the namespace of a process; empty if the process does not exist. */
export async function readMounts(pid: number | 'self'): Promise<readonly MountEntry[]> {
  const table = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')
  return table.split('\n').map((line) => {
    const [, , device = '', root = '', point = ''] = line.split(' ')
    return { mountPoint: unescapeMount(point), deviceAndRoot: `${device} ${root}` }
  })
}

/** Mount points at a path and below it, the deepest first. */
async function mountPointsBelow(path: string): Promise<readonly string[]> {
  const points = (await readMounts('self')).map(({ mountPoint }) => mountPoint)
  const contained = points.filter((point) => point === path || point.startsWith(`${path}/`))
  return contained.toReversed()
}

/** Decodes a mount point: the kernel writes blanks as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}

/**
 * Propagation of the mount that contains a path. `shared`: to and from its peers; `slave`: only
 * from its master; `private`: none.
 */
export async function propagationOf(path: string): Promise<'shared' | 'slave' | 'private'> {
  const table = await readFile('/proc/self/mountinfo', 'utf8')
  const realPath = await realpath(path)
  let nearestMount: { point: string; tags: readonly string[] } = { point: '', tags: [] }
  for (const line of table.split('\n')) {
    const fields = line.split(' ')
    const point = unescapeMount(fields[4] ?? '')
    const isAbove = point === '/' || realPath === point || realPath.startsWith(`${point}/`)
    // The last of several mounts at one point is the visible one.
    if (point === '' || !isAbove || point.length < nearestMount.point.length) continue
    nearestMount = { point, tags: fields.slice(6, fields.indexOf('-')) }
  }
  if (nearestMount.tags.some((tag) => tag.startsWith('shared:'))) return 'shared'
  return nearestMount.tags.some((tag) => tag.startsWith('master:')) ? 'slave' : 'private'
}

/** Unmounts everything at and below a path, because files must never be removed across a mount. */
export async function unmountAll(path: string): Promise<void> {
  for (const point of await mountPointsBelow(path)) {
    const problem = await runMountProgram('umount', ['--', point])
    if (problem !== undefined) {
      throw new Fault('agent-state', `${point} stays mounted: ${problem}`)
    }
  }
}

/**
 * Bind-mounts an open descriptor at a path. The kernel follows the descriptor and not a name, so
 * the source cannot be swapped; `-c` keeps mount from resolving it to a name first.
 */
export async function bindMountDescriptor(fd: number, path: string): Promise<void> {
  const problem = await runMountProgram(
    'mount',
    ['-c', '--bind', '--', `/proc/self/fd/${PASSED_FD}`, path],
    fd,
  )
  if (problem === undefined) return
  throw new Fault('agent-state', `nothing could be mounted at ${path}: ${problem}`)
}

/** Lazily unmounts a path: it disappears immediately, even if it is in use. */
export async function lazyUnmount(path: string): Promise<void> {
  if (!(await mountPointsBelow(path)).includes(path)) return
  const problem = await runMountProgram('umount', ['-l', '--', path])
  if (problem === undefined) return
  throw new Fault('agent-state', `${path} stays mounted: ${problem}`)
}

/** Mounts a tmpfs, whose content never reaches a disk and whose size is limited. */
export async function mountTmpfs(path: string, options: TmpfsOptions): Promise<void> {
  if ((await mountPointsBelow(path)).includes(path)) return
  const { sizeMB, owner } = options
  const mountOptions = [
    'noexec',
    'nosuid',
    'nodev',
    `size=${sizeMB}m`,
    'mode=0700',
    ...(owner === undefined ? [] : [`uid=${owner.uid}`, `gid=${owner.gid}`]),
  ].join(',')
  const problem = await runMountProgram('mount', [
    '-t',
    'tmpfs',
    '-o',
    mountOptions,
    'tmpfs',
    '--',
    path,
  ])
  if (problem === undefined) return
  throw new Fault('agent-state', `no memory could be mounted at ${path}: ${problem}`)
}

/** Tests whether a tmpfs can be mounted below a directory; returns the problem, or undefined. */
export async function probeTmpfs(parent: string): Promise<string | undefined> {
  const path = await mkdtemp(join(parent, '.trial-'))
  try {
    await mountTmpfs(path, { sizeMB: 1, owner: undefined })
    await unmountAll(path)
    return undefined
  } catch (thrown) {
    return errorMessage(thrown)
  } finally {
    await rmdir(path)
  }
}

interface TmpfsOptions {
  readonly sizeMB: number
  readonly owner: { readonly uid: number; readonly gid: number } | undefined
}

/** Number of the passed descriptor in the child process. */
const PASSED_FD = 3

/** Runs a program; returns its error output on failure, or undefined. */
async function runMountProgram(
  program: string,
  args: readonly string[],
  fd?: number,
): Promise<string | undefined> {
  const child = spawn(program, args, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['ignore', 'ignore', 'pipe', ...(fd === undefined ? [] : [fd])],
  })
  let stderr = ''
  child.stderr?.on('data', (piece: Buffer) => {
    stderr = `${stderr}${piece.toString('utf8')}`.slice(0, 1_024)
  })
  try {
    const [code]: unknown[] = await once(child, 'close')
    return code === 0 ? undefined : stderr.trim()
  } catch (thrown) {
    return errorMessage(thrown)
  }
}
