import { constants } from 'node:fs'
import { mkdir, open, rename, unlink, type FileHandle } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { errorCode } from './state-file.ts'

/**
 * Writing below a directory that somebody else may change meanwhile. Each part of a path is opened
 * without following links, and the next one is found through the open directory, so a link planted
 * at any moment leads to a Fault and never elsewhere. (The runtime has no `openat`, but a path
 * through `/proc/self/fd` is the same.)
 */
export class Beneath {
  readonly #handle: FileHandle

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** The root itself is trusted: its path is the agent's own. */
  static async open(root: string): Promise<Beneath> {
    return new Beneath(await open(root, DIRECTORY))
  }

  /** A path of an entry that goes through the open directory. */
  path(name: string): string {
    return `/proc/self/fd/${this.#handle.fd}/${name}`
  }

  /** Opens a directory below, by its parts; makes those that are missing when a mode is given. */
  async directory(parts: readonly string[], make?: MakeDirectory): Promise<Beneath> {
    let current: Beneath = new Beneath(await open(this.path('.'), DIRECTORY))
    for (const part of parts) {
      try {
        const next = await current.#enter(part, make)
        await current.close()
        current = next
      } catch (thrown) {
        await current.close()
        throw escaped(part, thrown)
      }
    }
    return current
  }

  /** Works in a directory below, and lets go of it whatever happens. */
  async within<T>(place: Within, work: (directory: Beneath) => Promise<T>): Promise<T> {
    const directory = await this.directory(place.parts, place.make)
    try {
      return await work(directory)
    } finally {
      await directory.close()
    }
  }

  async #enter(part: string, make: MakeDirectory | undefined): Promise<Beneath> {
    const path = this.path(part)
    if (make !== undefined) {
      const isNew = await mkdir(path, { mode: make.mode }).then(() => true, ignoreExisting)
      const entered = new Beneath(await open(path, DIRECTORY))
      if (isNew) await entered.#settle(make)
      return entered
    }
    return new Beneath(await open(path, DIRECTORY))
  }

  /** Mkdir's mode is narrowed by the umask. */
  async #settle({ mode, owner }: MakeDirectory): Promise<void> {
    await this.#handle.chmod(mode)
    if (owner !== undefined) await this.#handle.chown(owner.uid, owner.gid)
  }

  /** A new file; fails when the name is taken, whatever by. */
  async create(name: string, mode: number): Promise<FileHandle> {
    return open(this.path(name), NEW_FILE, mode)
  }

  /**
   * Replaces a file as a whole, so that a reader sees the old text or the new one. Whatever has the
   * name now, a link too, is replaced and not followed.
   */
  async write(name: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const temporary = `.${name.slice(0, 64)}.reeve-new`
    await unlink(this.path(temporary)).catch(ignoreMissing)
    const file = await this.create(temporary, 0o600)
    try {
      await file.writeFile(bytes)
      if (options.owner !== undefined) await file.chown(options.owner.uid, options.owner.gid)
      await file.chmod(options.mode)
    } finally {
      await file.close()
    }
    try {
      await rename(this.path(temporary), this.path(name))
    } catch (thrown) {
      await unlink(this.path(temporary)).catch(ignoreMissing)
      throw escaped(name, thrown)
    }
  }

  /** The bytes of a regular file, undefined when there is none. A FIFO or a device is refused. */
  async read(name: string, bytesMax: number): Promise<Uint8Array | undefined> {
    let file: FileHandle
    try {
      file = await open(this.path(name), EXISTING_FILE)
    } catch (thrown) {
      if (errorCode(thrown) === 'ENOENT') return undefined
      throw escaped(name, thrown)
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

/** A file that a task makes longer meanwhile is read no further than the bound. */
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

interface Within {
  readonly parts: readonly string[]
  readonly make?: MakeDirectory | undefined
}

interface MakeDirectory {
  readonly mode: number
  readonly owner?: Owner | undefined
}

interface WriteOptions {
  readonly mode: number
  readonly owner?: Owner | undefined
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const EXISTING_FILE =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * The parts of a path that is meant to lie below some directory. Undefined when it leads out of it
 * or is no path at all.
 */
export function partsBelow(path: string): readonly string[] | undefined {
  if (path.includes('\0')) return undefined
  const normal = normalize(join('/', path))
  // Normalizing an absolute path swallows what leads out; the same path without a root does not.
  const relative = normalize(path.replace(/^\/+/, ''))
  if (relative === '..' || relative.startsWith('../')) return undefined
  return normal.split('/').filter((part) => part !== '')
}

function escaped(part: string, thrown: unknown): unknown {
  const code = errorCode(thrown)
  if (code !== 'ELOOP' && code !== 'ENOTDIR' && code !== 'EISDIR') return thrown
  const what = `${JSON.stringify(part)} is in the way: ${errorMessage(thrown)}`
  return new Fault('path-escape', what, { cause: thrown })
}

function ignoreExisting(thrown: unknown): boolean {
  if (errorCode(thrown) !== 'EEXIST') throw thrown
  return false
}

function ignoreMissing(thrown: unknown): void {
  if (errorCode(thrown) !== 'ENOENT') throw thrown
}
