import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readTar } from '../artifact/tar.ts'
import { unpack, UnpackBudget } from '../artifact/unpack.ts'
import { removeTree } from '../store/remove-tree.ts'
import { errorCode } from '../store/state-file.ts'
import { dataPaths } from './snapshot.ts'

interface TakenData {
  /** The directory of the allocation: no task may write to it. */
  readonly root: string
  readonly tasks: readonly string[]
  /** Fires when it is too late to put anything into its place. */
  readonly signal: AbortSignal
}

/** No task has this name: those begin with a letter or digit. */
const STAGING = '.incoming'

/**
 * Takes the data of another node's allocation: unpacked where only the agent writes, and moved to
 * its place when all of it has come. What the stream holds beside the data is thrown away.
 */
export async function takeData(
  source: AsyncIterable<Uint8Array>,
  { root, tasks, signal }: TakenData,
): Promise<void> {
  const staging = join(root, STAGING)
  // An agent before this one may have been killed in the middle.
  await removeTree(staging)
  await mkdir(staging, { recursive: true, mode: 0o700 })
  try {
    // It comes as it is: what it unpacks to is what was sent.
    const budget = new UnpackBudget(Infinity)
    const preservesOwnership = process.getuid?.() === 0
    await unpack(readTar(source), staging, { budget, preservesOwnership })
    signal.throwIfAborted()
    for (const parts of dataPaths(tasks)) {
      const to = join(root, ...parts)
      await mkdir(dirname(to), { recursive: true, mode: 0o755 })
      await moveDirectory(join(staging, ...parts), to)
    }
  } finally {
    await removeTree(staging)
  }
}

/** In the place of an empty directory; one that has something was moved before. */
async function moveDirectory(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw thrown
  }
}
