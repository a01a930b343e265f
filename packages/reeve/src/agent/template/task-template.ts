import type { Template } from '@reeve/contract'
import { Fault, messageOf } from '../../kit/fault.ts'
import {
  parseTemplate,
  renderTemplate,
  TemplateError,
  type TemplateFunctions,
  type TemplateTree,
} from '../../lang/template/index.ts'
import type { PlaceBelow } from '../store/task-place.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { templateFault } from './facts.ts'
import type { TaskFiles } from './task-files.ts'

/** One template of a task, with every reference resolved, and the text it was last rendered to. */
export class TaskTemplate {
  readonly settings: Template
  readonly #files: TaskFiles
  readonly #destination: PlaceBelow
  readonly #source: PlaceBelow | undefined
  #tree: TemplateTree | undefined
  /** What the file holds, as far as is known. */
  #written: string | undefined

  constructor(settings: Template, context: TaskHookContext, files: TaskFiles) {
    const { interpolator } = context.environment
    const resolved = (path: string): PlaceBelow => {
      return files.place(interpolator.text(path, 'Templates'))
    }
    this.settings = settings
    this.#files = files
    this.#source = settings.SourcePath === '' ? undefined : resolved(settings.SourcePath)
    this.#destination = resolved(settings.DestPath)
    if (this.#destination.parts.length === 0) {
      throw new Fault('task-invalid', 'a template has no destination')
    }
  }

  get text(): string {
    return this.#written ?? ''
  }

  /** A template that cannot be read never can be: Fault `task-invalid`. */
  async load(functions: TemplateFunctions): Promise<void> {
    const source = await this.#sourceText()
    const { LeftDelim, RightDelim } = this.settings
    try {
      this.#tree = parseTemplate(source, {
        left: LeftDelim === '' ? '{{' : LeftDelim,
        right: RightDelim === '' ? '}}' : RightDelim,
        functions,
      })
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown
      throw new Fault('task-invalid', `template ${this.#name()}: ${thrown.message}`)
    }
  }

  async #sourceText(): Promise<string> {
    if (this.#source === undefined) return this.settings.EmbeddedTmpl
    const text = await this.#files.read(this.#source)
    if (text === undefined) throw templateFault(`${this.settings.SourcePath} is not there`)
    return text
  }

  /** What the destination holds since an agent before this one, so that only a change acts. */
  async recall(): Promise<void> {
    this.#written = await this.#files.read(this.#destination).catch(() => undefined)
  }

  render(functions: TemplateFunctions): string {
    if (this.#tree === undefined) return ''
    try {
      const failsOnMissingKey = this.settings.ErrMissingKey
      return renderTemplate(this.#tree, { data: new Map(), functions, failsOnMissingKey })
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown
      throw templateFault(`${this.#name()}: ${thrown.message}`, thrown)
    }
  }

  /** True when the text is a new one. */
  async write(text: string): Promise<boolean> {
    const { Perms, Uid, Gid } = this.settings
    const isNew = text !== this.#written
    const owner = isGiven(Uid) || isGiven(Gid) ? { uid: Uid ?? -1, gid: Gid ?? -1 } : undefined
    try {
      await this.#files.write(this.#destination, text, { mode: modeOf(Perms), owner })
    } catch (thrown) {
      throw templateFault(`${this.#name()}: ${messageOf(thrown)}`, thrown)
    }
    this.#written = text
    return isNew
  }

  #name(): string {
    return JSON.stringify(this.settings.DestPath)
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
