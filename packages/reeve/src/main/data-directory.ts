import { mkdir, readdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'

/** What a program keeps below its data directory. */
const OWN_NAMES: readonly string[] = ['server', 'client']

/**
 * Makes the data directory if it is not there. One that holds other people's files is refused
 * before anything is written to it.
 */
export async function prepareDataDirectory(path: string): Promise<void> {
  await makeDirectory(path, PASSED_THROUGH)
  // A mounted file system brings this folder along; it belongs to no program.
  const names = (await readdir(path)).filter((name) => name !== 'lost+found')
  if (names.length === 0 || names.some((name) => OWN_NAMES.includes(name))) return
  throw new Fault(
    'storage-foreign',
    `The data directory ${path} holds other files (such as ${names[0]}); give an empty or new one with --data-dir.`,
  )
}

/** Tasks that run as other users have their directories below; what is private is so itself. */
const PASSED_THROUGH = 0o711
const PRIVATE = 0o700

const KINDS: Readonly<Record<string, string>> = {
  ENOSPC: 'storage-full',
  EROFS: 'storage-read-only',
}

/**
 * Level by level: Node's recursive mkdir never returns below /proc (seen with 24.21.0).
 */
export async function makeDirectory(path: string, mode = PRIVATE): Promise<void> {
  const isThere = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (isThere) return
  const parent = dirname(path)
  if (parent !== path) await makeDirectory(parent, mode)
  await mkdir(path, { mode }).catch((thrown: NodeJS.ErrnoException) => {
    const why = thrown.code === 'EEXIST' ? 'it is a file' : thrown.message
    const kind = KINDS[thrown.code ?? ''] ?? 'storage-unwritable'
    throw new Fault(kind, `The data directory ${path} cannot be made: ${why}.`, { cause: thrown })
  })
}
