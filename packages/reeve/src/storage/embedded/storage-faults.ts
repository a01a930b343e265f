import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** Why the embedded engine does not do what it was asked to. */
type StorageFaultKind = keyof typeof whatNext

/** The last sentence of every message: an operator reads it at night and wants the next step. */
const whatNext = {
  'storage-corrupt':
    'Nothing was removed. Run "reeve operator storage salvage" to save what is readable, or ' +
    'restore a backup.',
  'storage-version': 'Nothing was changed.',
  'storage-locked': 'Stop that process first, or choose another directory.',
  'storage-unwritable':
    'Nothing was changed. Give the account that runs Reeve the right to write there.',
  'storage-read-only':
    'Nothing that was acknowledged is lost. A file system becomes read-only after a disk error: ' +
    'look at the system log, repair and remount it, then start again.',
  'storage-full':
    'Nothing that was acknowledged is lost. Free space on that disk: a server that runs accepts ' +
    'writes again by itself, and until then only reads and deletes.',
  'storage-foreign': 'Nothing was changed. Choose an empty or new directory for the data.',
  'storage-failed':
    'Nothing that was acknowledged is lost. Look at the disk and the system log, then start again.',
} as const

export function storageFault(
  kind: StorageFaultKind,
  wrong: string,
  options?: { cause?: unknown },
): Fault {
  return new Fault(kind, `${wrong} ${whatNext[kind]}`, options)
}

/** What the file system or the database threw, as a fault. `doing` reads after "while". */
export function toStorageFault(thrown: unknown, directory: string, doing: string): Fault {
  if (thrown instanceof Fault) return thrown
  const cause = rootOf(thrown)
  const kind = kindOf(cause)
  return storageFault(
    kind,
    `${wrongs[kind](directory)} (while ${doing}: ${errorMessage(cause)}).`,
    {
      cause: thrown,
    },
  )
}

const wrongs: Readonly<Record<StorageFaultKind, (directory: string) => string>> = {
  'storage-corrupt': (directory) => `The data directory ${directory} is damaged`,
  'storage-version': (directory) => `The data directory ${directory} has another format`,
  'storage-locked': (directory) => `The data directory ${directory} is in use by another process`,
  'storage-unwritable': (directory) => `The data directory ${directory} cannot be written to`,
  'storage-read-only': (directory) =>
    `The file system that holds the data directory ${directory} is read-only`,
  'storage-full': (directory) => `The disk that holds the data directory ${directory} is full`,
  'storage-foreign': (directory) => `The data directory ${directory} cannot be used`,
  'storage-failed': (directory) => `The data directory ${directory} cannot be used`,
}

/** The database's library wraps what went wrong in "database is not open". */
function rootOf(thrown: unknown): unknown {
  const wrapped = thrown instanceof Error && codeOf(thrown) === 'LEVEL_DATABASE_NOT_OPEN'
  return wrapped && thrown.cause instanceof Error ? thrown.cause : thrown
}

function kindOf(cause: unknown): StorageFaultKind {
  const code = codeOf(cause)
  if (code !== undefined && Object.hasOwn(kindsByCode, code)) {
    return kindsByCode[code] ?? 'storage-failed'
  }
  // The database reports failed system calls by the system's sentence only.
  const message = errorMessage(cause)
  return kindsByText.find(([text]) => message.includes(text))?.[1] ?? 'storage-failed'
}

const kindsByCode: Readonly<Record<string, StorageFaultKind>> = {
  LEVEL_CORRUPTION: 'storage-corrupt',
  LEVEL_LOCKED: 'storage-locked',
  ENOSPC: 'storage-full',
  EDQUOT: 'storage-full',
  EACCES: 'storage-unwritable',
  EPERM: 'storage-unwritable',
  EROFS: 'storage-read-only',
  ENOTDIR: 'storage-foreign',
  EEXIST: 'storage-foreign',
}

const kindsByText = [
  ['No space left', 'storage-full'],
  ['quota exceeded', 'storage-full'],
  ['Permission denied', 'storage-unwritable'],
  ['Operation not permitted', 'storage-unwritable'],
  ['Read-only file system', 'storage-read-only'],
] as const satisfies readonly (readonly [string, StorageFaultKind])[]

/** The code the runtime or the library put on an error. */
export function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : undefined
}
