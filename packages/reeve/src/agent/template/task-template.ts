import type { Template } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { PlaceBelow } from '../store/task-place.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { templateFault } from './dependencies.ts'
import { digestOf, type RenderedFile, type TemplateSource } from './render-templates.ts'
import type { TaskFiles } from './task-files.ts'

/** One template of a task, with every reference resolved, and what its file holds. */
export class TaskTemplate {
  readonly settings: Template
  readonly #files: TaskFiles
  readonly #destination: PlaceBelow
  readonly #sourcePath: PlaceBelow | undefined
  #sourceText: string | undefined
  /** Of the file's content, as far as is known. */
  #digest: string | undefined

  constructor(settings: Template, context: TaskHookContext, files: TaskFiles) {
    const { interpolator } = context.environment
    const resolved = (path: string): PlaceBelow => {
      return files.place(interpolator.text(path, 'Templates'))
    }
    this.settings = settings
    this.#files = files
    this.#sourcePath = settings.SourcePath === '' ? undefined : resolved(settings.SourcePath)
    this.#destination = resolved(settings.DestPath)
    if (this.#destination.parts.length === 0) {
      throw new Fault('task-invalid', 'a template has no destination')
    }
  }

  /** Reads the source, which stays the same until the task starts again. */
  async load(): Promise<void> {
    if (this.#sourcePath === undefined) this.#sourceText = this.settings.EmbeddedTmpl
    else this.#sourceText = await this.#files.read(this.#sourcePath)
    if (this.#sourceText === undefined) {
      throw templateFault(`${this.settings.SourcePath} is not there`)
    }
  }

  get source(): TemplateSource {
    const { DestPath, LeftDelim, RightDelim, ErrMissingKey, Envvars } = this.settings
    return {
      name: DestPath,
      text: this.#sourceText ?? '',
      left: LeftDelim === '' ? '{{' : LeftDelim,
      right: RightDelim === '' ? '}}' : RightDelim,
      failsOnMissingKey: ErrMissingKey,
      isEnvironment: Envvars,
    }
  }

  /** What the destination holds since an agent before this one, so that only a change acts. */
  async loadPrevious(): Promise<void> {
    const text = await this.#files.read(this.#destination).catch(() => undefined)
    this.#digest = text === undefined ? undefined : digestOf(Buffer.from(text))
  }

  isChanged({ digest }: RenderedFile): boolean {
    return digest !== this.#digest
  }

  async write({ bytes, digest }: RenderedFile): Promise<void> {
    const { Perms, Uid, Gid, DestPath } = this.settings
    const owner = isGiven(Uid) || isGiven(Gid) ? { uid: Uid ?? -1, gid: Gid ?? -1 } : undefined
    try {
      await this.#files.write(this.#destination, bytes, { mode: modeOf(Perms), owner })
    } catch (thrown) {
      throw templateFault(`${JSON.stringify(DestPath)}: ${errorMessage(thrown)}`, thrown)
    }
    this.#digest = digest
  }
}

function isGiven(id: number | null): boolean {
  return id !== null && id >= 0
}

function modeOf(perms: string): number {
  if (perms === '') return 0o644
  if (/^[0-7]{3,4}$/.test(perms)) return Number.parseInt(perms, 8) & 0o777
  throw new Fault('task-invalid', `${JSON.stringify(perms)} are no permissions`)
}
