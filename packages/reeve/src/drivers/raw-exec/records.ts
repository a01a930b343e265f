import { constants } from 'node:fs'
import { chown, mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, isMissing, type HostUser } from '../../agent/index.ts'
import { parseStat, type ProcessRef } from './processes.ts'

/** What the shim writes; nothing it writes is longer. */
const RECORD_BYTES_MAX = 4096

/** Says in place of a shim's own line that the start was called off before the shim began. */
const WITHDRAWN = 'withdrawn'

type Claim =
  /** The start had not begun, and now it never will. */
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'begun'; readonly shim: ProcessRef }
  /** A shim has taken it and has not yet said who it is. */
  | { readonly kind: 'unsaid' }

export interface ExitRecord {
  readonly status: number
  /** The command could not be executed at all. */
  readonly isFailedExec: boolean
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

  /** Calls off a start that has not begun; atomic against the shim's own claim. */
  async withdraw(): Promise<Claim> {
    const { O_WRONLY, O_CREAT, O_EXCL } = constants
    try {
      const file = await open(join(this.dir, 'shim'), O_WRONLY | O_CREAT | O_EXCL, 0o600)
      await file.writeFile(`${WITHDRAWN}\n`)
      await file.close()
      return { kind: 'withdrawn' }
    } catch (thrown) {
      // Not even the directory was made, so nothing can have been started.
      if (isMissing(thrown)) return { kind: 'withdrawn' }
      if (errorCode(thrown) !== 'EEXIST') throw thrown
      return this.#claim()
    }
  }

  async #claim(): Promise<Claim> {
    const line = await this.#line('shim')
    if (line === undefined) return { kind: 'unsaid' }
    if (line === WITHDRAWN) return { kind: 'withdrawn' }
    const shim = parseStat(line)
    return shim === undefined ? { kind: 'unsaid' } : { kind: 'begun', shim }
  }

  /** The shim's process, once it has said so. */
  shim(): Promise<ProcessRef | undefined> {
    return this.#process('shim')
  }

  /** The task's process, once it exists. */
  task(): Promise<ProcessRef | undefined> {
    return this.#process('task')
  }

  async exit(): Promise<ExitRecord | undefined> {
    const line = await this.#line('exit')
    if (line === undefined || !/^\d{1,3}$/.test(line)) return undefined
    const { mtimeMs } = await stat(join(this.dir, 'exit'))
    return {
      status: Number(line),
      isFailedExec: await this.hasFailedExec(),
      atMs: Math.floor(mtimeMs),
    }
  }

  async hasFailedExec(): Promise<boolean> {
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

  async #process(name: string): Promise<ProcessRef | undefined> {
    const line = await this.#line(name)
    return line === undefined ? undefined : parseStat(line)
  }

  /** The one line of a record; undefined when it is not there or not whole. */
  async #line(name: string): Promise<string | undefined> {
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
