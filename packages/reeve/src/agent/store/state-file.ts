import { constants } from 'node:fs'
import { open, readFile, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'

/**
 * Replaces a file atomically: a crash leaves the old content or the new one. Writes and syncs a
 * temporary file, renames it, and syncs the directory. Only the agent's user can read the file.
 */
export async function writeStateFile(path: string, text: string): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.new`)
  try {
    await writeAndSync(temporary, text)
    await rename(temporary, path)
    await syncDirectory(dirname(path))
  } catch (thrown) {
    throw new Fault('agent-state', `cannot write ${path}: ${errorMessage(thrown)}`, {
      cause: thrown,
    })
  }
}

async function writeAndSync(path: string, text: string): Promise<void> {
  // Replaces the remains of a crash without following them.
  await unlink(path).catch(ignoreMissing)
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  await closeAfter(file, async () => {
    await file.writeFile(text)
    await file.datasync()
  })
}

/** Makes renames and removals inside the directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await closeAfter(directory, () => directory.sync())
}

async function closeAfter(file: FileHandle, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } finally {
    await file.close()
  }
}

/** Parsed JSON of a state file; undefined if it does not exist. */
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

/** System error code such as `ENOENT`. */
export function errorCode(thrown: unknown): string | undefined {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}
