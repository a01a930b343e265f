import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { findRecordLockHolder } from '@reeve/kit/proc-locks.ts'
import { errorCode, isMissing } from './state-file.ts'

export interface AgentLock {
  release(): void
}

/** The database stays empty: all that is used of it is its lock. */
const LOCK_FILE = 'lock.db'

/** Earlier agents kept the name of a socket in it, which any task could bind in their place. */
const OLD_LOCK_FILE = 'lock'

/** SQLite's result code when another connection has the lock. */
const SQLITE_BUSY = 5

/**
 * Locks the agent's directory: two agents on one directory would start everything twice.
 *
 * An exclusive transaction of SQLite is the one lock on a file that the runtime offers. It is a
 * record lock of the kernel: released however the process ends, not inherited by tasks, and only
 * for those who may open the file, which is the agent's user. Nothing else in this process may open
 * the file: closing any descriptor of a file releases the record locks of the process on it.
 */
export async function lockAgentDirectory(dir: string): Promise<AgentLock> {
  const file = join(dir, LOCK_FILE)
  await createPrivate(file)
  const database = open(file)
  try {
    // Without a journal file nothing is written: an agent must start on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (thrown) {
    database.close()
    throw isBusy(thrown) ? await lockedFault(dir, file, thrown) : lockFault(file, thrown)
  }
  await rm(join(dir, OLD_LOCK_FILE), { force: true })
  return { release: () => database.close() }
}

/** SQLite would create the file readable by all. One that is there is not opened. */
async function createPrivate(file: string): Promise<void> {
  const isThere = await stat(file).then(
    () => true,
    (thrown: unknown) => {
      if (isMissing(thrown)) return false
      throw thrown
    },
  )
  if (isThere) return
  await writeFile(file, '', { flag: 'wx', mode: 0o600 }).catch((thrown: unknown) => {
    // Two agents that begin at the same moment agree on one file.
    if (errorCode(thrown) !== 'EEXIST') throw thrown
  })
}

function open(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { timeout: 0 })
  } catch (thrown) {
    throw lockFault(file, thrown)
  }
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && Reflect.get(thrown, 'errcode') === SQLITE_BUSY
}

async function lockedFault(dir: string, file: string, cause: unknown): Promise<Fault> {
  const table = await readFile('/proc/locks', 'utf8').catch(() => '') // no Linux: no table
  const holder = findRecordLockHolder(table, await stat(file, { bigint: true }))
  const pid = holder === undefined ? '' : ` (pid ${holder})`
  const text = `Another agent is using ${dir}${pid}. Stop it, or choose another --data-dir.`
  return new Fault('agent-locked', text, { cause })
}

function lockFault(file: string, cause: unknown): Fault {
  return new Fault('agent-state', `cannot lock ${file}: ${errorMessage(cause)}`, { cause })
}
