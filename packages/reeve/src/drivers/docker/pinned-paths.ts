import {
  mkdir,
  readdir,
  readFile,
  realpath,
  rmdir,
  unlink,
  writeFile,
  type FileHandle,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  bindMountDescriptor,
  lazyUnmount,
  errorCode,
  isMissing,
  readMounts,
} from '../../agent/index.ts'

/** Below the state directory of the driver. */
const PINNED_MOUNTS_DIR = 'docker-mounts'

/**
 * The sources of one container's mounts, bound where no task can write, for the time between its
 * creation and its start. The engine opens its sources by name: a name inside an allocation can be
 * replaced by a link between a check and that moment, a mount in the agent's own directory cannot
 * (docs/contributing/decisions/0068-task-isolation.md).
 */
export class PinnedPaths {
  readonly #dir: string
  #count = 0

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** `id` is that of the start. */
  static async open(stateDir: string, id: string): Promise<PinnedPaths> {
    const dir = join(stateDir, PINNED_MOUNTS_DIR, id)
    await mkdir(dir, { recursive: true, mode: 0o700 })
    // The kernel tells mounts by their real paths.
    return new PinnedPaths(await realpath(dir))
  }

  /** Releases what an agent left that was killed in between. Called before the first start. */
  static async releaseLeftovers(stateDir: string): Promise<void> {
    const names = await readdir(join(stateDir, PINNED_MOUNTS_DIR)).catch((thrown: unknown) => {
      if (isMissing(thrown)) return []
      throw thrown
    })
    for (const name of names) await (await PinnedPaths.open(stateDir, name)).release()
  }

  /** The name under which the engine finds what is open, whatever becomes of its old name. */
  async pin(file: FileHandle): Promise<string> {
    this.#count += 1
    const path = join(this.#dir, String(this.#count))
    if ((await file.stat()).isDirectory()) await mkdir(path, { mode: 0o700 })
    else await writeFile(path, '', { mode: 0o600, flag: 'wx' })
    await bindMountDescriptor(file.fd, path)
    return path
  }

  /**
   * Whether a container that was started has what is pinned here: an engine that does not see the
   * mounts of the agent mounts the empty places below them. True where that cannot be found out.
   */
  async areMountedIn({ pid, id }: { readonly pid: number; readonly id: string }): Promise<boolean> {
    if (this.#count === 0 || pid <= 0 || id === '') return true
    // The number may be that of another process here, when the engine counts its own.
    const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
    if (!groups.includes(id)) return true
    const containerMounts = new Set(
      (await readMounts(pid)).map(({ deviceAndRoot }) => deviceAndRoot),
    )
    const pinnedMounts = (await readMounts('self')).filter(
      ({ mountPoint }) => dirname(mountPoint) === this.#dir,
    )
    // A container that has ended meanwhile has no mounts at all.
    return (
      containerMounts.size <= 1 ||
      pinnedMounts.every(({ deviceAndRoot }) => containerMounts.has(deviceAndRoot))
    )
  }

  /** The mounts of a container that has started are its own: these are needed no longer. */
  async release(): Promise<void> {
    await this.#unpinAll()
    await rmdir(this.#dir)
  }

  /** Never recursive: an entry that is still mounted holds files of a task. */
  async #unpinAll(): Promise<void> {
    for (const name of await readdir(this.#dir)) {
      const path = join(this.#dir, name)
      await lazyUnmount(path)
      await rmdir(path).catch((thrown: unknown) => {
        if (errorCode(thrown) !== 'ENOTDIR') throw thrown
        return unlink(path)
      })
    }
  }
}
