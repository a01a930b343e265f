import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { findRecordLockHolder } from '@reeve/kit/proc-locks.ts'
import { errorCode, isMissing } from './state-file.ts'

export interface AgentLock {
  release(): void
}

/** The database stays empty: only its lock is used. */
const LOCK_FILE = 'lock.db'

/** Older agents stored the name of a socket in this file, which any task could bind instead. */
const LEGACY_LOCK_FILE = 'lock'

/** SQLite's result code when another connection has the lock. */
const SQLITE_BUSY = 5

/**
 * Locks the agent's directory: two agents on one directory would start everything twice. The lock
 * is an exclusive SQLite transaction, the only file lock that the runtime offers: a record lock of
 * the kernel that is released however the process ends, is not inherited by tasks, and requires
 * access to the file. Nothing else in this process may open the file, because closing any
 * descriptor of it releases the lock.
 */
export async function lockAgentDirectory(dir: string): Promise<AgentLock> {
  const file = join(dir, LOCK_FILE)
  await createLockFile(file)
  const database = openDatabase(file)
  try {
    // Without a journal file nothing is written: an agent must start on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (thrown) {
    database.close()
    throw isLockedElsewhere(thrown)
      ? await agentLockedFault(dir, file, thrown)
      : lockFault(file, thrown)
  }
  await rm(join(dir, LEGACY_LOCK_FILE), { force: true })
  return { release: () => database.close() }
}

/** Creates the lock file: SQLite would make it world-readable. An existing file is not opened. */
async function createLockFile(file: string): Promise<void> {
  const exists = await stat(file).then(
    () => true,
    (thrown: unknown) => {
      if (isMissing(thrown)) return false
      throw thrown
    },
  )
  if (exists) return
  await writeFile(file, '', { flag: 'wx', mode: 0o600 }).catch((thrown: unknown) => {
    // Another agent created the file at the same moment.
    if (errorCode(thrown) !== 'EEXIST') throw thrown
  })
}

function openDatabase(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { timeout: 0 })
  } catch (thrown) {
    throw lockFault(file, thrown)
  }
}

function isLockedElsewhere(thrown: unknown): boolean {
  return thrown instanceof Error && Reflect.get(thrown, 'errcode') === SQLITE_BUSY
}

async function agentLockedFault(dir: string, file: string, cause: unknown): Promise<Fault> {
  const lockTable = await readFile('/proc/locks', 'utf8').catch(() => '') // no Linux: no table
  const holder = findRecordLockHolder(lockTable, await stat(file, { bigint: true }))
  const pid = holder === undefined ? '' : ` (pid ${holder})`
  const message = `Another agent is using ${dir}${pid}. Stop it, or choose another --data-dir.`
  return new Fault('agent-locked', message, { cause })
}

function lockFault(file: string, cause: unknown): Fault {
  return new Fault('agent-state', `cannot lock ${file}: ${errorMessage(cause)}`, { cause })
}
