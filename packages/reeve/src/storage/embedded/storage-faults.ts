import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** Kinds of faults of the embedded engine. */
type StorageFaultKind = keyof typeof remedies

/** Remedies, the last sentence of every message: operators need the next step. */
const remedies = {
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
  problem: string,
  options?: { cause?: unknown },
): Fault {
  return new Fault(kind, `${problem} ${remedies[kind]}`, options)
}

/** Converts an error of the file system or database into a fault. `doing` completes "while …". */
export function toStorageFault(thrown: unknown, directory: string, operation: string): Fault {
  if (thrown instanceof Fault) return thrown
  const cause = rootCause(thrown)
  const kind = faultKindOf(cause)
  return storageFault(
    kind,
    `${problems[kind](directory)} (while ${operation}: ${errorMessage(cause)}).`,
    {
      cause: thrown,
    },
  )
}

const problems: Readonly<Record<StorageFaultKind, (directory: string) => string>> = {
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

/** The database library wraps the actual error in "database is not open". */
function rootCause(thrown: unknown): unknown {
  const isWrapped = thrown instanceof Error && errorCode(thrown) === 'LEVEL_DATABASE_NOT_OPEN'
  return isWrapped && thrown.cause instanceof Error ? thrown.cause : thrown
}

function faultKindOf(cause: unknown): StorageFaultKind {
  const code = errorCode(cause)
  if (code !== undefined && Object.hasOwn(KINDS_BY_CODE, code)) {
    return KINDS_BY_CODE[code] ?? 'storage-failed'
  }
  // The database reports failed system calls only by their message.
  const message = errorMessage(cause)
  return KINDS_BY_MESSAGE.find(([text]) => message.includes(text))?.[1] ?? 'storage-failed'
}

const KINDS_BY_CODE: Readonly<Record<string, StorageFaultKind>> = {
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

const KINDS_BY_MESSAGE = [
  ['No space left', 'storage-full'],
  ['quota exceeded', 'storage-full'],
  ['Permission denied', 'storage-unwritable'],
  ['Operation not permitted', 'storage-unwritable'],
  ['Read-only file system', 'storage-read-only'],
] as const satisfies readonly (readonly [string, StorageFaultKind])[]

/** Error code set by the runtime or a library. */
export function errorCode(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : undefined
}
