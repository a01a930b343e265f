import { readFile, stat } from 'node:fs/promises'
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
  return file === undefined ? undefined : holderIn(table, file)
}

/** A line reads `1: POSIX  ADVISORY  WRITE 4242 fd:01:131081 0 EOF`: process, device, file. */
export function holderIn(
  table: string,
  file: { readonly dev: bigint; readonly ino: bigint },
): number | undefined {
  const place = `${hex(majorOf(file.dev))}:${hex(minorOf(file.dev))}:${file.ino}`
  for (const line of table.split('\n')) {
    const words = line.trim().split(/\s+/)
    if (words[1] === 'POSIX' && words[5] === place) return Number(words[4])
  }
  return undefined
}

function majorOf(device: bigint): bigint {
  return ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)
}

function minorOf(device: bigint): bigint {
  return (device & 0xffn) | ((device >> 12n) & ~0xffn & 0xffffffffn)
}

function hex(number: bigint): string {
  return number.toString(16).padStart(2, '0')
}

function ifMissing(thrown: unknown): undefined {
  if (codeOf(thrown) === 'ENOENT') return undefined
  throw thrown
}
