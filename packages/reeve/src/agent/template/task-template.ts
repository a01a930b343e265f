import type { Template } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { TaskIsolation } from '../driver.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory, type Owner } from '../store/safe-directory.ts'
import { errorCode } from '../store/state-file.ts'
import {
  type ContainedPath,
  isTaskVisiblePath,
  resolveTaskPath,
  type TaskPaths,
} from '../store/workspace.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { templateFault } from './dependencies.ts'
import { digestOf, type RenderedFile, type TemplateSource } from './render-templates.ts'

/** One template of a task with references resolved, and the digest of its file. */
export class TaskTemplate {
  readonly block: Template
  readonly #files: TaskFiles
  readonly #destination: ContainedPath
  readonly #sourcePath: ContainedPath | undefined
  #sourceText: string | undefined
  /** Digest of the file content, if known. */
  #writtenDigest: string | undefined

  constructor(settings: Template, context: TaskHookContext, files: TaskFiles) {
    const { interpolator } = context.environment
    const resolved = (path: string): ContainedPath => {
      return files.resolvePath(interpolator.resolve(path, 'Templates'))
    }
    this.block = settings
    this.#files = files
    this.#sourcePath = settings.SourcePath === '' ? undefined : resolved(settings.SourcePath)
    this.#destination = resolved(settings.DestPath)
    if (this.#destination.parts.length === 0) {
      throw new Fault('task-invalid', 'a template has no destination')
    }
  }

  /** Reads the template source, which is used until the task starts again. */
  async load(): Promise<void> {
    if (this.#sourcePath === undefined) this.#sourceText = this.block.EmbeddedTmpl
    else this.#sourceText = await this.#files.read(this.#sourcePath)
    if (this.#sourceText === undefined) {
      throw templateFault(`${this.block.SourcePath} is not there`)
    }
  }

  get source(): TemplateSource {
    const { DestPath, LeftDelim, RightDelim, ErrMissingKey, Envvars } = this.block
    return {
      name: DestPath,
      text: this.#sourceText ?? '',
      left: LeftDelim === '' ? '{{' : LeftDelim,
      right: RightDelim === '' ? '}}' : RightDelim,
      failsOnMissingKey: ErrMissingKey,
      isEnvironment: Envvars,
    }
  }

  /** Reads the file that the previous agent rendered, so that only changes trigger actions. */
  async loadPrevious(): Promise<void> {
    const text = await this.#files.read(this.#destination).catch(() => undefined)
    this.#writtenDigest = text === undefined ? undefined : digestOf(Buffer.from(text))
  }

  isChanged({ contentDigest }: RenderedFile): boolean {
    return contentDigest !== this.#writtenDigest
  }

  async write({ bytes, contentDigest }: RenderedFile): Promise<void> {
    const { Perms, Uid, Gid, DestPath } = this.block
    const owner = isId(Uid) || isId(Gid) ? { uid: Uid ?? -1, gid: Gid ?? -1 } : undefined
    try {
      await this.#files.write(this.#destination, bytes, { mode: parsePermissions(Perms), owner })
    } catch (thrown) {
      throw templateFault(`${JSON.stringify(DestPath)}: ${errorMessage(thrown)}`, thrown)
    }
    this.#writtenDigest = contentDigest
  }
}

function isId(id: number | null): boolean {
  return id !== null && id >= 0
}

function parsePermissions(permissions: string): number {
  if (permissions === '') return 0o644
  if (/^[0-7]{3,4}$/.test(permissions)) return Number.parseInt(permissions, 8) & 0o777
  throw new Fault('task-invalid', `${JSON.stringify(permissions)} are no permissions`)
}

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
