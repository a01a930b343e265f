import { readFile, stat } from 'node:fs/promises'
import { findRecordLockHolder } from '@reeve/kit/proc-locks.ts'
import { errorCode } from './storage-faults.ts'

/**
 * Process ID of the holder of the database lock; undefined if none is visible. The database has its
 * own lock, but trying it has side effects: it first renames the LOG file of the holder, and a
 * second attempt in the same process even drops the first lock (closing any descriptor of a file
 * releases all locks of the process on it). So the kernel's lock table is checked first. Without
 * such a table, or if the holder is in another PID namespace, the database's own lock still
 * protects.
 */
export async function findLockHolder(lockFile: string): Promise<number | undefined> {
  const [table, file] = await Promise.all([
    readFile('/proc/locks', 'utf8').catch(() => ''), // no Linux: no table
    stat(lockFile, { bigint: true }).catch(undefinedIfMissing),
  ])
  return file === undefined ? undefined : findRecordLockHolder(table, file)
}

function undefinedIfMissing(thrown: unknown): undefined {
  if (errorCode(thrown) === 'ENOENT') return undefined
  throw thrown
}
