import { constants } from 'node:fs'
import { chown, mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, isMissing, type HostUser } from '../../agent/index.ts'
import { parseStat, type ProcessId } from './processes.ts'

/** What the shim writes; nothing it writes is longer. */
const RECORD_BYTES_MAX = 4096

/** Written instead of the shim's line if the start was cancelled before the shim began. */
const CANCELLED_LINE = 'withdrawn'

type ShimClaim =
  /** The start had not begun and never will. */
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'begun'; readonly shim: ProcessId }
  /** A shim has claimed the start and has not written its line yet. */
  | { readonly kind: 'unsaid' }

export interface ShellExitRecord {
  readonly status: number
  /** The command could not be executed at all. */
  readonly hasExecFailed: boolean
  readonly atMs: number
}

/**
 * The files that a shim leaves in its directory (see shim.ts). A task may run as the directory's
 * owner, so they are read with care.
 */
export class ShimRecords {
  readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  async create(owner: HostUser | undefined): Promise<void> {
    await mkdir(this.dir, { mode: 0o700 })
    if (owner !== undefined) await chown(this.dir, owner.uid, owner.gid)
  }

  /** Cancels a start that has not begun; atomic with respect to the claim of the shim. */
  async cancelStart(): Promise<ShimClaim> {
    const { O_WRONLY, O_CREAT, O_EXCL } = constants
    try {
      const file = await open(join(this.dir, 'shim'), O_WRONLY | O_CREAT | O_EXCL, 0o600)
      await file.writeFile(`${CANCELLED_LINE}\n`)
      await file.close()
      return { kind: 'withdrawn' }
    } catch (thrown) {
      // The directory was not created, so nothing was started.
      if (isMissing(thrown)) return { kind: 'withdrawn' }
      if (errorCode(thrown) !== 'EEXIST') throw thrown
      return this.#readClaim()
    }
  }

  async #readClaim(): Promise<ShimClaim> {
    const line = await this.#readLine('shim')
    if (line === undefined) return { kind: 'unsaid' }
    if (line === CANCELLED_LINE) return { kind: 'withdrawn' }
    const shim = parseStat(line)
    return shim === undefined ? { kind: 'unsaid' } : { kind: 'begun', shim }
  }

  /** Process of the shim, once recorded. */
  shimProcess(): Promise<ProcessId | undefined> {
    return this.#readProcessId('shim')
  }

  /** Process of the task, once it exists. */
  taskProcess(): Promise<ProcessId | undefined> {
    return this.#readProcessId('task')
  }

  async exitRecord(): Promise<ShellExitRecord | undefined> {
    const line = await this.#readLine('exit')
    if (line === undefined || !/^\d{1,3}$/.test(line)) return undefined
    const { mtimeMs } = await stat(join(this.dir, 'exit'))
    return {
      status: Number(line),
      hasExecFailed: await this.hasExecFailed(),
      atMs: Math.floor(mtimeMs),
    }
  }

  async hasExecFailed(): Promise<boolean> {
    return stat(join(this.dir, 'failed')).then(
      () => true,
      (thrown: unknown) => {
        if (isMissing(thrown)) return false
        throw thrown
      },
    )
  }

  async remove(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true })
  }

  async #readProcessId(name: string): Promise<ProcessId | undefined> {
    const line = await this.#readLine(name)
    return line === undefined ? undefined : parseStat(line)
  }

  /** The one line of a record; undefined when it is not there or not whole. */
  async #readLine(name: string): Promise<string | undefined> {
    const text = await readSmallFile(join(this.dir, name))
    return text?.endsWith('\n') === true ? text.slice(0, -1) : undefined
  }
}

async function readSmallFile(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    // Neither a link nor a pipe in its place may lead the agent elsewhere or make it wait.
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile()) return undefined
      const { bytesRead, buffer } = await file.read(Buffer.alloc(RECORD_BYTES_MAX), 0)
      return buffer.toString('latin1', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (thrown) {
    if (isMissing(thrown) || errorCode(thrown) === 'ELOOP') return undefined
    throw thrown
  }
}
