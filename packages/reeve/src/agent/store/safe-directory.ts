import { constants } from 'node:fs'
import { mkdir, open, rename, unlink, type FileHandle, opendir, rmdir } from 'node:fs/promises'
import { basename, dirname, join, normalize } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { errorCode, isMissing } from './state-file.ts'

/**
 * Safe access below a directory that tasks can modify. Each path component is opened without
 * following links, and the next one through the open directory, so a planted link causes a Fault
 * and never leads elsewhere. (The runtime has no `openat`; a path through `/proc/self/fd` is
 * equivalent.)
 */
export class SafeDirectory {
  readonly #handle: FileHandle

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Opens a root directory, whose path is trusted because the agent owns it. */
  static async open(root: string): Promise<SafeDirectory> {
    return new SafeDirectory(await open(root, DIRECTORY_FLAGS))
  }

  /** Path of an entry through the open directory. */
  pathOf(name: string): string {
    return `/proc/self/fd/${this.#handle.fd}/${name}`
  }

  /** Opens a subdirectory; creates missing components if a mode is given. */
  async openSubdirectory(
    parts: readonly string[],
    make?: DirectoryOptions,
  ): Promise<SafeDirectory> {
    let current: SafeDirectory = new SafeDirectory(await open(this.pathOf('.'), DIRECTORY_FLAGS))
    for (const part of parts) {
      try {
        const next = await current.#openChild(part, make)
        await current.close()
        current = next
      } catch (thrown) {
        await current.close()
        throw pathEscapeFault(part, thrown)
      }
    }
    return current
  }

  /** Opens a subdirectory for the duration of `work`. */
  async withSubdirectory<T>(
    location: SubdirectoryLocation,
    work: (directory: SafeDirectory) => Promise<T>,
  ): Promise<T> {
    const directory = await this.openSubdirectory(location.parts, location.make)
    try {
      return await work(directory)
    } finally {
      await directory.close()
    }
  }

  async #openChild(part: string, make: DirectoryOptions | undefined): Promise<SafeDirectory> {
    const path = this.pathOf(part)
    if (make !== undefined) {
      const isNew = await mkdir(path, { mode: make.mode }).then(() => true, ignoreExisting)
      const entered = new SafeDirectory(await open(path, DIRECTORY_FLAGS))
      if (isNew) await entered.#applyModeAndOwner(make)
      return entered
    }
    return new SafeDirectory(await open(path, DIRECTORY_FLAGS))
  }

  /** Sets mode and owner explicitly: the mode of mkdir is limited by the umask. */
  async #applyModeAndOwner({ mode, owner }: DirectoryOptions): Promise<void> {
    await this.#handle.chmod(mode)
    if (owner !== undefined) await this.#handle.chown(owner.uid, owner.gid)
  }

  /** Creates a file; fails if the name exists, as a file or anything else. */
  async createFile(name: string, mode: number): Promise<FileHandle> {
    return open(this.pathOf(name), NEW_FILE_FLAGS, mode)
  }

  /**
   * Replaces a file atomically, so that a reader sees the old content or the new one. An existing
   * entry, including a link, is replaced and not followed.
   */
  async writeFile(name: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const temporary = `.${name.slice(0, 64)}.reeve-new`
    await unlink(this.pathOf(temporary)).catch(ignoreMissingFile)
    const file = await this.createFile(temporary, 0o600)
    try {
      await file.writeFile(bytes)
      if (options.owner !== undefined) await file.chown(options.owner.uid, options.owner.gid)
      await file.chmod(options.mode)
    } finally {
      await file.close()
    }
    try {
      await rename(this.pathOf(temporary), this.pathOf(name))
    } catch (thrown) {
      await unlink(this.pathOf(temporary)).catch(ignoreMissingFile)
      throw pathEscapeFault(name, thrown)
    }
  }

  /** Reads a regular file; undefined if it does not exist. Rejects FIFOs and devices. */
  async readFile(name: string, bytesMax: number): Promise<Uint8Array | undefined> {
    let file: FileHandle
    try {
      file = await open(this.pathOf(name), EXISTING_FILE_FLAGS)
    } catch (thrown) {
      if (errorCode(thrown) === 'ENOENT') return undefined
      throw pathEscapeFault(name, thrown)
    }
    try {
      const stat = await file.stat()
      if (!stat.isFile()) throw new Fault('path-escape', `${name} is not a regular file`)
      if (stat.size > bytesMax) throw tooLarge(name)
      return await readUpTo(file, bytesMax, name)
    } finally {
      await file.close()
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

/** Reads up to the limit, even if a task appends to the file meanwhile. */
async function readUpTo(file: FileHandle, bytesMax: number, name: string): Promise<Uint8Array> {
  const { size } = await file.stat()
  let buffer = Buffer.allocUnsafeSlow(Math.min(size, bytesMax) + 1)
  let length = 0
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length)
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
    if (length > bytesMax) throw tooLarge(name)
    if (length < buffer.length) continue
    const larger = Buffer.allocUnsafeSlow(Math.min(2 * length, bytesMax) + 1)
    buffer.copy(larger)
    buffer = larger
  }
}

function tooLarge(name: string): Fault {
  return new Fault('path-escape', `${name} is too large`)
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

interface SubdirectoryLocation {
  readonly parts: readonly string[]
  readonly make?: DirectoryOptions | undefined
}

interface DirectoryOptions {
  readonly mode: number
  readonly owner?: Owner | undefined
}

interface WriteOptions {
  readonly mode: number
  readonly owner?: Owner | undefined
}

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const NEW_FILE_FLAGS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const EXISTING_FILE_FLAGS =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Components of a path below some directory. Undefined if the path leads out of it or is invalid.
 */
export function containedPathParts(path: string): readonly string[] | undefined {
  if (path.includes('\0')) return undefined
  const normalized = normalize(join('/', path))
  // Normalizing an absolute path drops leading `..`; a relative path keeps them.
  const relative = normalize(path.replace(/^\/+/, ''))
  if (relative === '..' || relative.startsWith('../')) return undefined
  return normalized.split('/').filter((part) => part !== '')
}

function pathEscapeFault(part: string, thrown: unknown): unknown {
  const code = errorCode(thrown)
  if (code !== 'ELOOP' && code !== 'ENOTDIR' && code !== 'EISDIR') return thrown
  const message = `${JSON.stringify(part)} is in the way: ${errorMessage(thrown)}`
  return new Fault('path-escape', message, { cause: thrown })
}

function ignoreExisting(thrown: unknown): boolean {
  if (errorCode(thrown) !== 'EEXIST') throw thrown
  return false
}

function ignoreMissingFile(thrown: unknown): void {
  if (errorCode(thrown) !== 'ENOENT') throw thrown
}

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
