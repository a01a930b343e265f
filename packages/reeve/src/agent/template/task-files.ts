import { Fault } from '@reeve/kit/fault.ts'
import type { TaskIsolation } from '../driver.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory, type Owner } from '../store/beneath.ts'
import { errorCode } from '../store/state-file.ts'
import { isTaskVisiblePath, resolveTaskPath, type ContainedPath } from '../store/task-place.ts'
import type { TaskPaths } from '../store/workspace.ts'

/** Files of one task, accessed without following planted links. */
export class TaskFiles {
  readonly #taskLocation: { readonly paths: TaskPaths; readonly isolation: TaskIsolation }

  constructor(place: { readonly paths: TaskPaths; readonly isolation: TaskIsolation }) {
    this.#taskLocation = place
  }

  /** Fault `task-invalid` if the path leads out of the task's directories. */
  resolvePath(path: string): ContainedPath {
    return resolveTaskPath(path, this.#taskLocation)
  }

  /** Reads a file; undefined if it does not exist. */
  async read(location: ContainedPath): Promise<string | undefined> {
    const name = location.parts.at(-1)
    if (name === undefined) return undefined
    try {
      const bytes = await this.#inParentDirectory(location, undefined, (parent) =>
        parent.readFile(name, AGENT_LIMITS.templateFileBytesMax),
      )
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
    } catch (thrown) {
      if (errorCode(thrown) === 'ENOENT') return undefined
      throw thrown
    }
  }

  /**
   * Reads an included file; undefined if it does not exist yet. A host path that cannot exist in
   * the task's directory is a Fault `task-invalid`.
   */
  async include(path: string): Promise<string | undefined> {
    const content = await this.read(this.resolvePath(path))
    if (
      content !== undefined ||
      !path.startsWith('/') ||
      isTaskVisiblePath(path, this.#taskLocation)
    )
      return content
    const allowedLocations = "the task's directory and the alloc directory"
    throw new Fault(
      'task-invalid',
      `${JSON.stringify(path)} is not there: files come from ${allowedLocations}`,
    )
  }

  async write(
    location: ContainedPath,
    bytes: Uint8Array,
    options: TaskFileWriteOptions,
  ): Promise<void> {
    const name = location.parts.at(-1) ?? ''
    await this.#inParentDirectory(
      location,
      { mode: 0o755, owner: options.directoryOwner },
      (parent) => parent.writeFile(name, bytes, options),
    )
  }

  async #inParentDirectory<T>(
    { root, parts }: ContainedPath,
    make: { readonly mode: number; readonly owner?: Owner | undefined } | undefined,
    work: (parent: SafeDirectory) => Promise<T>,
  ): Promise<T> {
    const top = await SafeDirectory.open(root)
    try {
      return await top.withSubdirectory({ parts: parts.slice(0, -1), make }, work)
    } finally {
      await top.close()
    }
  }
}

interface TaskFileWriteOptions {
  readonly mode: number
  readonly owner?: Owner | undefined
  /** Owner of directories that have to be created. */
  readonly directoryOwner?: Owner | undefined
}
