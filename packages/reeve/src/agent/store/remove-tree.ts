import { opendir, rmdir, unlink } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { AGENT_LIMITS } from '../limits.ts'
import { Beneath } from './beneath.ts'
import { errorCode, isMissing } from './state-file.ts'

/**
 * Removes a file, or a directory with everything in it, unless it is gone already. Links are
 * removed and never followed. The runtime's own `rm` reads a directory as a whole and queues a call
 * for each entry: 200,000 files of a task held the event loop for nine seconds. Here a directory is
 * read and emptied in small batches.
 */
export async function removeTree(path: string): Promise<void> {
  const parent = await Beneath.open(dirname(path)).catch(ignoreMissing)
  if (parent === undefined) return
  try {
    await removeEntry(parent, basename(path))
  } finally {
    await parent.close()
  }
}

async function removeEntry(parent: Beneath, name: string): Promise<void> {
  try {
    await unlink(parent.path(name))
  } catch (thrown) {
    if (isMissing(thrown)) return
    // Linux answers EISDIR for a directory, other systems EPERM.
    if (errorCode(thrown) !== 'EISDIR' && errorCode(thrown) !== 'EPERM') throw thrown
    await removeDirectory(parent, name)
  }
}

/** Entries may be added while others are removed: a directory that is not empty is tried again. */
const ATTEMPTS = 5

async function removeDirectory(parent: Beneath, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const directory = await parent.directory([name]).catch(ignoreMissing)
    if (directory === undefined) return
    try {
      await removeEntries(directory)
    } finally {
      await directory.close()
    }
    try {
      await rmdir(parent.path(name))
      return
    } catch (thrown) {
      if (isMissing(thrown)) return
      if (errorCode(thrown) !== 'ENOTEMPTY' || attempt >= ATTEMPTS) throw thrown
    }
  }
}

async function removeEntries(directory: Beneath): Promise<void> {
  const bufferSize = AGENT_LIMITS.directoryBatch
  const batch: Promise<void>[] = []
  try {
    for await (const entry of await opendir(directory.path('.'), { bufferSize })) {
      // One directory after the other: each keeps a descriptor open.
      if (entry.isDirectory()) await removeDirectory(directory, entry.name)
      else batch.push(removeEntry(directory, entry.name))
      if (batch.length >= bufferSize) await settle(batch)
    }
  } finally {
    // Their paths go through the open directory, whose descriptor may belong to another one later.
    await settle(batch)
  }
}

async function settle(batch: Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(batch.splice(0))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

function ignoreMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown
}
