import { constants } from 'node:fs'
import { open, readFile, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'

/**
 * Replaces a file so that a crash at any moment leaves the old text or the new one, never a part: a
 * temporary file, synced, renamed, and the rename synced with the directory. Only the agent's user
 * reads it.
 */
export async function writeStateFile(path: string, text: string): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.new`)
  try {
    await writeSynced(temporary, text)
    await rename(temporary, path)
    await syncDirectory(dirname(path))
  } catch (thrown) {
    throw new Fault('agent-state', `cannot write ${path}: ${errorMessage(thrown)}`, {
      cause: thrown,
    })
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  // What a crash left behind is replaced, not followed.
  await unlink(path).catch(ignoreMissing)
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  await finishWith(file, async () => {
    await file.writeFile(text)
    await file.datasync()
  })
}

/** Makes renames and removals inside the directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await finishWith(directory, () => directory.sync())
}

async function finishWith(file: FileHandle, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } finally {
    await file.close()
  }
}

/** The JSON value of a state file; undefined when there is none. */
export async function readStateFile(path: string): Promise<unknown> {
  try {
    const { size } = await stat(path)
    if (size > AGENT_LIMITS.stateFileBytesMax) {
      throw new Fault('agent-state', `${path} is larger than the agent ever writes`)
    }
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    if (thrown instanceof Fault) throw thrown
    throw new Fault('agent-state', `cannot read ${path}: ${errorMessage(thrown)}`, {
      cause: thrown,
    })
  }
}

function ignoreMissing(thrown: unknown): void {
  if (!isMissing(thrown)) throw thrown
}

export function isMissing(thrown: unknown): boolean {
  return errorCode(thrown) === 'ENOENT'
}

/** The system's name of an error: `ENOENT`. */
export function errorCode(thrown: unknown): string | undefined {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}
