import { readFile, stat } from 'node:fs/promises'
import { findRecordLockHolder } from '@reeve/kit/proc-locks.ts'
import { codeOf } from './storage-faults.ts'

/**
 * Who holds the database's lock file: a process id, or undefined when nobody is seen to.
 *
 * The database locks for itself, but trying its lock has effects: it renames the holder's LOG
 * first, and a second try inside one process even drops the lock of the first (closing any
 * descriptor of a file gives up all of a process's locks on it). So we look before we try, by the
 * kernel's table of locks. Where there is no such table, or the holder is hidden from it (another
 * process namespace), the database's own lock still refuses.
 */
export async function findLockHolder(lockFile: string): Promise<number | undefined> {
  const [table, file] = await Promise.all([
    readFile('/proc/locks', 'utf8').catch(() => ''), // no Linux: no table
    stat(lockFile, { bigint: true }).catch(ifMissing),
  ])
  return file === undefined ? undefined : findRecordLockHolder(table, file)
}

function ifMissing(thrown: unknown): undefined {
  if (codeOf(thrown) === 'ENOENT') return undefined
  throw thrown
}
