import { constants, type Stats } from 'node:fs'
import { lstat, open, opendir, readlink } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { Beneath } from '../store/beneath.ts'
import { isMissing } from '../store/state-file.ts'
import { tarHeader, tarPadding, TAR_END, type Packed } from './tar-writer.ts'

/** Paths below the directory of an allocation that go with it. */
export function dataPaths(tasks: readonly string[]): readonly (readonly string[])[] {
  return [['alloc', 'data'], ...tasks.map((task) => [task, 'local'])]
}

/**
 * The data of an ended allocation as a tar. Tasks have planted what they liked: each directory is
 * entered without following links, and only files, directories and links as such are packed.
 */
export async function* packData(
  root: string,
  tasks: readonly string[],
): AsyncGenerator<Uint8Array> {
  const beneath = await Beneath.open(root)
  const budget = { entries: 0, bytes: 0 }
  try {
    for (const parts of dataPaths(tasks)) {
      const directory = await beneath.directory(parts).catch(orNone)
      if (directory === undefined) continue
      try {
        yield* packDirectory(directory, { parts, budget })
      } finally {
        await directory.close()
      }
    }
  } finally {
    await beneath.close()
  }
  yield TAR_END
}

interface Walk {
  readonly parts: readonly string[]
  readonly budget: { entries: number; bytes: number }
}

async function* packDirectory(directory: Beneath, walk: Walk): AsyncGenerator<Uint8Array> {
  const { parts, budget } = walk
  yield tarHeader(entryOf(`${parts.join('/')}/`, 'directory', await lstat(directory.path('.'))))
  if (parts.length > AGENT_LIMITS.dataDepthMax) return
  // In pieces: a task may have put millions of files into one directory.
  const entries = await opendir(directory.path('.'), { bufferSize: AGENT_LIMITS.directoryBatch })
  for await (const { name } of entries) {
    budget.entries += 1
    if (budget.entries > AGENT_LIMITS.unpackedFilesMax)
      throw new Fault('task-data', 'there are more files than are moved to another node')
    yield* packEntry(directory, name, walk)
  }
}

async function* packEntry(
  directory: Beneath,
  name: string,
  { parts, budget }: Walk,
): AsyncGenerator<Uint8Array> {
  const place = [...parts, name]
  const stat = await lstat(directory.path(name)).catch(orNone)
  if (stat === undefined) return
  if (stat.isSymbolicLink()) {
    const target = await readlink(directory.path(name)).catch(orNone)
    // One that leads out is of no use elsewhere, and would be refused there with all the rest.
    if (target === undefined || leadsOut(target, parts.length)) return
    yield tarHeader({ ...entryOf(place.join('/'), 'symlink', stat), target })
  } else if (stat.isDirectory()) {
    const inside = await directory.directory([name]).catch(orNone)
    if (inside === undefined) return
    try {
      yield* packDirectory(inside, { parts: place, budget })
    } finally {
      await inside.close()
    }
  } else if (stat.isFile()) yield* packFile(directory.path(name), place, budget)
}

async function* packFile(
  path: string,
  place: readonly string[],
  budget: Walk['budget'],
): AsyncGenerator<Uint8Array> {
  const file = await open(path, READ).catch(orNone)
  if (file === undefined) return
  try {
    const stat = await file.stat()
    // Swapped for something else since it was looked at.
    if (!stat.isFile()) return
    budget.bytes += stat.size
    if (budget.bytes > AGENT_LIMITS.unpackedBytesMax)
      throw new Fault('task-data', 'there is more data than is moved to another node')
    yield tarHeader({ ...entryOf(place.join('/'), 'file', stat), size: stat.size })
    let left = stat.size
    while (left > 0) {
      // A new one each time: the socket keeps it until it is sent.
      const buffer = Buffer.allocUnsafe(Math.min(AGENT_LIMITS.dataChunkBytes, left))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, stat.size - left)
      if (bytesRead === 0) throw new Fault('task-data', 'a file became shorter while it was read')
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
    yield tarPadding(stat.size)
  } finally {
    await file.close()
  }
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

function entryOf(path: string, kind: Packed['kind'], { mode, uid, gid }: Stats): Packed {
  return { path, kind, mode: mode & 0o1777, uid, gid, size: 0, target: '' }
}

/** As `unpack` judges it: two directories above everything that is packed is the root of it. */
function leadsOut(target: string, depth: number): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const at = parts.findIndex((part) => part !== '..')
  const ups = at < 0 ? parts.length : at
  return (
    target === '' ||
    target.startsWith('/') ||
    Buffer.byteLength(target) > AGENT_LIMITS.memberPathBytesMax ||
    ups > depth ||
    parts.slice(ups).includes('..')
  )
}

/** What is missing, or is a link where a directory should be, is not packed. */
function orNone(thrown: unknown): undefined {
  const isLink = thrown instanceof Fault && thrown.kind === 'path-escape'
  const isLoop = thrown instanceof Error && 'code' in thrown && thrown.code === 'ELOOP'
  if (!isMissing(thrown) && !isLink && !isLoop) throw thrown
}
