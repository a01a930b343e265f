import { Fault } from '@reeve/kit/fault.ts'
import type { TaskIsolation } from '../driver.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { Beneath, type Owner } from '../store/beneath.ts'
import { errorCode } from '../store/state-file.ts'
import { isSeenByTask, placeInTask, type PlaceBelow } from '../store/task-place.ts'
import type { TaskPaths } from '../store/workspace.ts'

/** The files of one task, reached so that nothing it plants leads elsewhere. */
export class TaskFiles {
  readonly #place: { readonly paths: TaskPaths; readonly isolation: TaskIsolation }

  constructor(place: { readonly paths: TaskPaths; readonly isolation: TaskIsolation }) {
    this.#place = place
  }

  /** Fault `task-invalid` when the path leads out of the task's directories. */
  place(path: string): PlaceBelow {
    return placeInTask(path, this.#place)
  }

  /** Undefined when there is no such file. */
  async read(place: PlaceBelow): Promise<string | undefined> {
    const name = place.parts.at(-1)
    if (name === undefined) return undefined
    try {
      const bytes = await this.#inside(place, undefined, (parent) =>
        parent.read(name, AGENT_LIMITS.templateFileBytesMax),
      )
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
    } catch (thrown) {
      if (errorCode(thrown) === 'ENOENT') return undefined
      throw thrown
    }
  }

  /**
   * What a template names; undefined while it is not there. A path of the machine is taken as one
   * below the task's own directory, where nobody waits for it: Fault `task-invalid`.
   */
  async include(path: string): Promise<string | undefined> {
    const text = await this.read(this.place(path))
    if (text !== undefined || !path.startsWith('/') || isSeenByTask(path, this.#place)) return text
    const where = "the task's directory and the alloc directory"
    throw new Fault(
      'task-invalid',
      `${JSON.stringify(path)} is not there: files come from ${where}`,
    )
  }

  async write(place: PlaceBelow, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const name = place.parts.at(-1) ?? ''
    await this.#inside(place, { mode: 0o755, owner: options.directoryOwner }, (parent) =>
      parent.write(name, bytes, options),
    )
  }

  async #inside<T>(
    { root, parts }: PlaceBelow,
    make: { readonly mode: number; readonly owner?: Owner | undefined } | undefined,
    work: (parent: Beneath) => Promise<T>,
  ): Promise<T> {
    const top = await Beneath.open(root)
    try {
      return await top.within({ parts: parts.slice(0, -1), make }, work)
    } finally {
      await top.close()
    }
  }
}

interface WriteOptions {
  readonly mode: number
  readonly owner?: Owner | undefined
  /** Gets the directories that have to be made. */
  readonly directoryOwner?: Owner | undefined
}
