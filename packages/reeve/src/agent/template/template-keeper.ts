import { msFromNs } from '../../kit/duration.ts'
import { messageOf } from '../../kit/fault.ts'
import type { TemplateFunctions } from '../../lang/template/index.ts'
import type { Catalog } from '../catalog.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { pause } from '../wait.ts'
import { actOnChanges } from './change-actions.ts'
import { parseEnvFile } from './env-file.ts'
import { Facts, templateFault } from './facts.ts'
import { TaskFiles } from './task-files.ts'
import { taskFunctions } from './task-functions.ts'
import { TaskTemplate } from './task-template.ts'

/**
 * The templates of one task: rendered before it starts, and again whenever what they tell of
 * changes. Reference scheduling §30.
 */
export class TemplateKeeper {
  readonly #context: TaskHookContext
  readonly #facts: Facts
  readonly #files: TaskFiles
  readonly #templates: readonly TaskTemplate[]
  /** Texts of files that templates include; undefined: it is not there. */
  readonly #included = new Map<string, string | undefined>()
  readonly #wanted = new Set<string>()
  readonly #closed = new AbortController()
  #wake = Promise.withResolvers<void>()
  #isWatching = false
  #isLoaded = false

  constructor(context: TaskHookContext, catalog: Catalog | undefined) {
    const { Namespace: namespace } = context.assignment.allocation
    this.#context = context
    this.#files = new TaskFiles(context)
    this.#facts = new Facts({ catalog, namespace, changed: () => this.#wake.resolve() })
    this.#templates = (context.task.Templates ?? []).map(
      (settings) => new TaskTemplate(settings, context, this.#files),
    )
  }

  /** Waits until everything is known, writes all files, and gives the variables for the task. */
  async renderFirst(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    await this.#load()
    const { clock, control } = this.#context
    let said = ''
    let tellMs = clock.nowMs() + AGENT_LIMITS.templateMissingMs
    for (;;) {
      const texts = await this.#render(this.#templates)
      if (texts !== undefined) {
        for (const [template, text] of texts) await template.write(text)
        return this.#env()
      }
      await this.#waitForChange(signal, tellMs - clock.nowMs())
      if (signal.aborted) throw templateFault('the task ended before its templates were rendered')
      // What is on its way needs no word: a task has room for few events.
      if (clock.nowMs() < tellMs) continue
      tellMs = clock.nowMs() + AGENT_LIMITS.templateMissingMs
      const missing = this.#facts.missing.join(', ')
      if (missing !== '' && missing !== said) control.tell('Template', `Missing: ${missing}`)
      said = missing
    }
  }

  /** The task was started by an agent before this one: what it was given is in its files. */
  async resume(): Promise<void> {
    await this.#load()
    for (const template of this.#templates) await template.recall()
    // Whatever changed meanwhile is acted on by the first rendering.
    this.#wake.resolve()
  }

  /** Follows what the templates tell of from now on. Safe to repeat. */
  watch(): void {
    if (this.#isWatching || this.#templates.every(({ settings }) => settings.Once)) return
    this.#isWatching = true
    void this.#follow()
  }

  close(): void {
    this.#closed.abort()
    this.#facts.close()
    this.#wake.resolve()
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return
    const functions = this.#functions()
    for (const template of this.#templates) await template.load(functions)
    this.#isLoaded = true
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closed
    for (;;) {
      await this.#waitForChange(signal)
      if (signal.aborted) return
      try {
        await this.#renderAgain()
      } catch (thrown) {
        // What was rendered before stays: a task that runs is not ended for a moment's nonsense.
        this.#context.control.tell('Template', messageOf(thrown))
      }
    }
  }

  async #renderAgain(): Promise<void> {
    const followed = this.#templates.filter(({ settings }) => !settings.Once)
    const texts = await this.#render(followed)
    if (texts === undefined) return
    const changed: TaskTemplate[] = []
    for (const [template, text] of texts) {
      if (text === template.text) continue
      await template.write(text)
      changed.push(template)
    }
    if (changed.length === 0 || this.#closed.signal.aborted) return
    const settings = changed.map((template) => template.settings)
    await actOnChanges(settings, { ...this.#context, signal: this.#closed.signal })
  }

  /** The texts, or undefined while something is missing. */
  async #render(
    templates: readonly TaskTemplate[],
  ): Promise<readonly (readonly [TaskTemplate, string])[] | undefined> {
    this.#included.clear()
    for (let round = 0; round < AGENT_LIMITS.templateRoundsMax; round += 1) {
      this.#facts.begin()
      this.#wanted.clear()
      const functions = this.#functions()
      const texts = templates.map((template) => [template, template.render(functions)] as const)
      if (this.#wanted.size === 0) return this.#facts.missing.length === 0 ? texts : undefined
      await this.#include()
    }
    throw templateFault('the templates include too many files')
  }

  #functions(): TemplateFunctions {
    const { environment, clock, assignment } = this.#context
    return taskFunctions({
      environment,
      namespace: assignment.allocation.Namespace,
      facts: this.#facts,
      nowMs: clock.nowMs(),
      file: (path) => this.#file(path),
    })
  }

  #file(path: string): string | undefined {
    if (!this.#included.has(path)) {
      this.#wanted.add(path)
      return undefined
    }
    const text = this.#included.get(path)
    if (text === undefined) this.#facts.miss(`file(${path})`)
    return text
  }

  async #include(): Promise<void> {
    if (this.#included.size + this.#wanted.size > AGENT_LIMITS.templateFactsMax) {
      throw templateFault('the templates include too many files')
    }
    for (const path of this.#wanted) {
      this.#included.set(path, await this.#files.include(path))
    }
  }

  #env(): Readonly<Record<string, string>> {
    const files = this.#templates.filter(({ settings }) => settings.Envvars)
    return Object.assign({}, ...files.map(({ text }) => parseEnvFile(text)))
  }

  /** Until something is different, and what else is about to change has had its time. */
  async #waitForChange(signal: AbortSignal, forMs?: number): Promise<void> {
    const { clock } = this.#context
    const over = new AbortController()
    const late = forMs === undefined ? [] : [pause(clock, forMs, over.signal)]
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true, signal: over.signal })
    })
    const woken = this.#wake.promise.then(() => 'woken' as const)
    const first = await Promise.race([woken, aborted, ...late])
    over.abort()
    if (first !== 'woken') return
    if (forMs === undefined) await this.#gather(signal)
    this.#wake = Promise.withResolvers<void>()
  }

  /** A wait of the job's own: as long as changes go on coming, but not for ever. */
  async #gather(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context
    const waits = this.#templates.map(({ settings }) => settings.Wait)
    const least = Math.max(
      AGENT_LIMITS.templateGatherMs,
      ...waits.map((wait) => msFromNs(wait?.Min ?? 0)),
    )
    const most = Math.max(least, ...waits.map((wait) => msFromNs(wait?.Max ?? 0)))
    const endMs = clock.nowMs() + most
    for (;;) {
      this.#wake = Promise.withResolvers<void>()
      const over = new AbortController()
      const stop = AbortSignal.any([over.signal, signal])
      const leftMs = Math.min(least, endMs - clock.nowMs())
      const isQuiet = await Promise.race([
        pause(clock, leftMs, stop),
        this.#wake.promise.then(() => false),
      ])
      over.abort()
      if (isQuiet || signal.aborted || clock.nowMs() >= endMs) return
    }
  }
}
