import { mkdir, readdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'

/** Names that the agent creates in its data directory. */
const KNOWN_NAMES: readonly string[] = ['server', 'client']

/**
 * Creates the data directory if it is missing. A directory with foreign files is rejected before
 * anything is written to it.
 */
export async function prepareDataDirectory(path: string): Promise<void> {
  await createDirectory(path, TRAVERSABLE_MODE)
  // Created by the file system at a mount point.
  const names = (await readdir(path)).filter((name) => name !== 'lost+found')
  if (names.length === 0 || names.some((name) => KNOWN_NAMES.includes(name))) return
  throw new Fault(
    'storage-foreign',
    `The data directory ${path} holds other files (such as ${names[0]}); give an empty or new one with --data-dir.`,
  )
}

/**
 * Tasks of other users have their directories below this one; private subdirectories restrict
 * access themselves.
 */
const TRAVERSABLE_MODE = 0o711
const PRIVATE_MODE = 0o700

const FAULT_KINDS: Readonly<Record<string, string>> = {
  ENOSPC: 'storage-full',
  EROFS: 'storage-read-only',
}

/**
 * Creates the directory level by level, because a recursive mkdir of Node never returns below /proc
 * (seen with 24.21.0).
 */
export async function createDirectory(path: string, mode = PRIVATE_MODE): Promise<void> {
  const isThere = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (isThere) return
  const parent = dirname(path)
  if (parent !== path) await createDirectory(parent, mode)
  await mkdir(path, { mode }).catch((thrown: NodeJS.ErrnoException) => {
    const why = thrown.code === 'EEXIST' ? 'it is a file' : thrown.message
    const kind = FAULT_KINDS[thrown.code ?? ''] ?? 'storage-unwritable'
    throw new Fault(kind, `The data directory ${path} cannot be made: ${why}.`, { cause: thrown })
  })
}
