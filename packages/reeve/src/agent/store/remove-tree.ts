import { opendir, rmdir, unlink } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory } from './beneath.ts'
import { errorCode, isMissing } from './state-file.ts'

/**
 * Removes a file or directory recursively if it exists, without following links. The runtime's `rm`
 * queues a call for each entry of a directory: 200,000 files blocked the event loop for nine
 * seconds. This one reads and removes entries in small batches.
 */
export async function removeTree(path: string): Promise<void> {
  const parent = await SafeDirectory.open(dirname(path)).catch(undefinedIfMissing)
  if (parent === undefined) return
  try {
    await removeEntry(parent, basename(path))
  } finally {
    await parent.close()
  }
}

async function removeEntry(parent: SafeDirectory, name: string): Promise<void> {
  try {
    await unlink(parent.pathOf(name))
  } catch (thrown) {
    if (isMissing(thrown)) return
    // Linux answers EISDIR for a directory, other systems EPERM.
    if (errorCode(thrown) !== 'EISDIR' && errorCode(thrown) !== 'EPERM') throw thrown
    await removeDirectory(parent, name)
  }
}

/** Attempts to remove a directory, because entries may be added while others are removed. */
const REMOVE_ATTEMPTS_MAX = 5

async function removeDirectory(parent: SafeDirectory, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const directory = await parent.openSubdirectory([name]).catch(undefinedIfMissing)
    if (directory === undefined) return
    try {
      await removeEntries(directory)
    } finally {
      await directory.close()
    }
    try {
      await rmdir(parent.pathOf(name))
      return
    } catch (thrown) {
      if (isMissing(thrown)) return
      if (errorCode(thrown) !== 'ENOTEMPTY' || attempt >= REMOVE_ATTEMPTS_MAX) throw thrown
    }
  }
}

async function removeEntries(directory: SafeDirectory): Promise<void> {
  const bufferSize = AGENT_LIMITS.directoryBatchSize
  const batch: Promise<void>[] = []
  try {
    for await (const entry of await opendir(directory.pathOf('.'), { bufferSize })) {
      // One directory at a time: each keeps a descriptor open.
      if (entry.isDirectory()) await removeDirectory(directory, entry.name)
      else batch.push(removeEntry(directory, entry.name))
      if (batch.length >= bufferSize) await awaitBatch(batch)
    }
  } finally {
    // Wait for the batch: its paths use the descriptor of the directory, which may be reused later.
    await awaitBatch(batch)
  }
}

async function awaitBatch(batch: Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(batch.splice(0))
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure !== undefined) throw failure.reason
}

function undefinedIfMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown
}
