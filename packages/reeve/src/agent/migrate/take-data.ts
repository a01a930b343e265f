import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readTar } from '../artifact/tar.ts'
import { unpack, UnpackBudget } from '../artifact/unpack.ts'
import { removeTree } from '../store/remove-tree.ts'
import { errorCode } from '../store/state-file.ts'
import { migratedPaths } from './snapshot.ts'

interface ReceiveOptions {
  /** The allocation directory, which no task can write to. */
  readonly root: string
  readonly tasks: readonly string[]
  /** Aborted when the data must no longer be moved into place. */
  readonly signal: AbortSignal
}

/** Cannot collide with a task name, which begins with a letter or digit. */
const STAGING_DIR = '.incoming'

/**
 * Receives the data of an allocation of another node: unpacks it where only the agent writes, and
 * moves it into place once it is complete. Anything else in the stream is discarded.
 */
export async function receiveData(
  source: AsyncIterable<Uint8Array>,
  { root, tasks, signal }: ReceiveOptions,
): Promise<void> {
  const staging = join(root, STAGING_DIR)
  // The previous agent may have been killed while it received data.
  await removeTree(staging)
  await mkdir(staging, { recursive: true, mode: 0o700 })
  try {
    // The stream is not compressed: it unpacks to what was sent.
    const budget = new UnpackBudget(Infinity)
    const preservesOwnership = process.getuid?.() === 0
    await unpack(readTar(source), staging, { budget, preservesOwnership })
    signal.throwIfAborted()
    for (const parts of migratedPaths(tasks)) {
      const target = join(root, ...parts)
      await mkdir(dirname(target), { recursive: true, mode: 0o755 })
      await moveIntoEmptyDirectory(join(staging, ...parts), target)
    }
  } finally {
    await removeTree(staging)
  }
}

/** Moves a directory over an empty one. A target that is not empty was moved before. */
async function moveIntoEmptyDirectory(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw thrown
  }
}
