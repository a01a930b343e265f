import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, realpath, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** One line of the kernel's table of mounts. */
interface MountEntry {
  readonly point: string
  /** Device and path on it: what is mounted, whatever it is called. */
  readonly origin: string
}

/** The mounts that a process sees; none when there is no such process. */
export async function readMounts(pid: number | 'self'): Promise<readonly MountEntry[]> {
  const table = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')
  return table.split('\n').map((line) => {
    const [, , device = '', root = '', point = ''] = line.split(' ')
    return { point: unescapeMount(point), origin: `${device} ${root}` }
  })
}

/** What is mounted at a path and below it, the deepest first. */
async function mountsBelow(path: string): Promise<readonly string[]> {
  const points = (await readMounts('self')).map(({ point }) => point)
  const below = points.filter((point) => point === path || point.startsWith(`${path}/`))
  return below.toReversed()
}

/** The kernel writes blanks in paths as three octal digits. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}

/**
 * How the mount that holds a path passes on what is mounted below it. `shared`: to and from its
 * peers; `slave`: only from its master; `private`: not at all.
 */
export async function propagationOf(path: string): Promise<'shared' | 'slave' | 'private'> {
  const table = await readFile('/proc/self/mountinfo', 'utf8')
  const real = await realpath(path)
  let found: { point: string; tags: readonly string[] } = { point: '', tags: [] }
  for (const line of table.split('\n')) {
    const fields = line.split(' ')
    const point = unescapeMount(fields[4] ?? '')
    const isAbove = point === '/' || real === point || real.startsWith(`${point}/`)
    // The last of several mounts at one point is the one that is seen.
    if (point === '' || !isAbove || point.length < found.point.length) continue
    found = { point, tags: fields.slice(6, fields.indexOf('-')) }
  }
  if (found.tags.some((tag) => tag.startsWith('shared:'))) return 'shared'
  return found.tags.some((tag) => tag.startsWith('master:')) ? 'slave' : 'private'
}

/** Nothing is removed across a mount, so it is taken away first. */
export async function unmountBelow(path: string): Promise<void> {
  for (const point of await mountsBelow(path)) {
    const complaint = await run('umount', ['--', point])
    if (complaint !== undefined) {
      throw new Fault('agent-state', `${point} stays mounted: ${complaint}`)
    }
  }
}

/**
 * Mounts at a path what a descriptor is open for. The kernel follows the descriptor and not a name,
 * so that nobody can swap the source; `-c` keeps the program from resolving it to a name first.
 */
export async function bindDescriptor(fd: number, path: string): Promise<void> {
  const complaint = await run(
    'mount',
    ['-c', '--bind', '--', `/proc/self/fd/${GIVEN_FD}`, path],
    fd,
  )
  if (complaint === undefined) return
  throw new Fault('agent-state', `nothing could be mounted at ${path}: ${complaint}`)
}

/** Removes a mount from the tree at once, also while something still uses it. */
export async function detachMount(path: string): Promise<void> {
  if (!(await mountsBelow(path)).includes(path)) return
  const complaint = await run('umount', ['-l', '--', path])
  if (complaint === undefined) return
  throw new Fault('agent-state', `${path} stays mounted: ${complaint}`)
}

/** Memory as a directory: what it holds never reaches a disk, and it is full at its size. */
export async function mountMemory(path: string, options: MemoryMount): Promise<void> {
  if ((await mountsBelow(path)).includes(path)) return
  const { sizeMB, owner } = options
  const settings = [
    'noexec',
    'nosuid',
    'nodev',
    `size=${sizeMB}m`,
    'mode=0700',
    ...(owner === undefined ? [] : [`uid=${owner.uid}`, `gid=${owner.gid}`]),
  ].join(',')
  const complaint = await run('mount', ['-t', 'tmpfs', '-o', settings, 'tmpfs', '--', path])
  if (complaint === undefined) return
  throw new Fault('agent-state', `no memory could be mounted at ${path}: ${complaint}`)
}

/** Why memory cannot be mounted below a directory; undefined when a trial went well. */
export async function memoryComplaint(parent: string): Promise<string | undefined> {
  const path = await mkdtemp(join(parent, '.trial-'))
  try {
    await mountMemory(path, { sizeMB: 1, owner: undefined })
    await unmountBelow(path)
    return undefined
  } catch (thrown) {
    return errorMessage(thrown)
  } finally {
    await rmdir(path)
  }
}

interface MemoryMount {
  readonly sizeMB: number
  readonly owner: { readonly uid: number; readonly gid: number } | undefined
}

/** Under this number a program finds the descriptor that it is given. */
const GIVEN_FD = 3

/** What the program complained of; undefined when it did its work. */
async function run(
  program: string,
  args: readonly string[],
  fd?: number,
): Promise<string | undefined> {
  const child = spawn(program, args, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['ignore', 'ignore', 'pipe', ...(fd === undefined ? [] : [fd])],
  })
  let complaint = ''
  child.stderr?.on('data', (piece: Buffer) => {
    complaint = `${complaint}${piece.toString('utf8')}`.slice(0, 1_024)
  })
  try {
    const [code]: unknown[] = await once(child, 'close')
    return code === 0 ? undefined : complaint.trim()
  } catch (thrown) {
    return errorMessage(thrown)
  }
}
