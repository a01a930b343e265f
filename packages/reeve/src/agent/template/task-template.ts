import type { Template } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { ContainedPath } from '../store/task-place.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { templateFault } from './dependencies.ts'
import { digestOf, type RenderedFile, type TemplateSource } from './render-templates.ts'
import type { TaskFiles } from './task-files.ts'

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
