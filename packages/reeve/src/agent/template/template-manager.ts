import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Catalog } from '../catalog.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { pause } from '../wait.ts'
import { applyChangeModes } from './change-actions.ts'
import { TemplateDependencies, templateFault } from './dependencies.ts'
import type { QueueOwner } from './fair-queue.ts'
import type { RenderedFile, RenderOutcome, RenderRequest } from './render-templates.ts'
import { TaskFiles } from './task-files.ts'
import { TaskTemplate } from './task-template.ts'
import type { TemplateRenderer } from './template-renderer.ts'

type Rendered = Extract<RenderOutcome, { kind: 'rendered' }>

/** The templates of one task: rendered before it starts, and again when a dependency changes. */
export class TemplateManager {
  readonly #context: TaskHookContext
  readonly #renderer: TemplateRenderer
  readonly #owner: QueueOwner
  readonly #dependencies: TemplateDependencies
  readonly #files: TaskFiles
  readonly #templates: readonly TaskTemplate[]
  /** Texts of files that templates include; undefined: there is no such file. */
  readonly #included = new Map<string, string | undefined>()
  readonly #closed = new AbortController()
  #missing: readonly string[] = []
  #wake = Promise.withResolvers<void>()
  #isWatching = false
  #isLoaded = false

  constructor(context: TaskHookContext, catalog: Catalog | undefined, renderer: TemplateRenderer) {
    const { allocation, job } = context.assignment
    const namespace = allocation.Namespace
    this.#context = context
    this.#renderer = renderer
    // Children of a periodic or parameterized job share the turns of their parent.
    this.#owner = { namespace, job: job.ParentID || job.ID }
    this.#files = new TaskFiles(context)
    const changed = (): void => this.#wake.resolve()
    this.#dependencies = new TemplateDependencies({ catalog, namespace, changed })
    this.#templates = (context.task.Templates ?? []).map(
      (settings) => new TaskTemplate(settings, context, this.#files),
    )
  }

  /** Waits until everything is known, writes all files, and returns the variables for the task. */
  async renderInitial(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    await this.#load()
    const { clock, control } = this.#context
    let said = ''
    let tellMs = clock.monotonicMs() + AGENT_LIMITS.templateMissingMs
    for (;;) {
      const rendered = await this.#render(this.#templates, signal)
      if (rendered !== undefined) {
        for (const [template, file] of pairs(this.#templates, rendered)) await template.write(file)
        return rendered.env
      }
      await this.#waitForChange(signal, tellMs - clock.monotonicMs())
      if (signal.aborted) throw templateFault('the task ended before its templates were rendered')
      // What is on its way needs no word: a task has room for few events.
      if (clock.monotonicMs() < tellMs) continue
      tellMs = clock.monotonicMs() + AGENT_LIMITS.templateMissingMs
      const missing = this.#missing.join(', ')
      if (missing !== '' && missing !== said) control.tell('Template', `Missing: ${missing}`)
      said = missing
    }
  }

  /** The task was started by an agent before this one: what it was given is in its files. */
  async resume(): Promise<void> {
    await this.#load()
    for (const template of this.#templates) await template.loadPrevious()
    // Whatever changed meanwhile is acted on by the first rendering.
    this.#wake.resolve()
  }

  /** Follows the dependencies of the templates from now on. Safe to repeat. */
  watch(): void {
    if (this.#isWatching || this.#templates.every(({ settings }) => settings.Once)) return
    this.#isWatching = true
    void this.#follow()
  }

  close(): void {
    this.#closed.abort()
    this.#dependencies.close()
    this.#wake.resolve()
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return
    for (const template of this.#templates) await template.load()
    this.#isLoaded = true
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closed
    for (;;) {
      await this.#waitForChange(signal)
      if (signal.aborted) return
      try {
        await this.#renderAgain(signal)
      } catch (thrown) {
        if (signal.aborted) return
        // What was rendered before stays: a running task is not ended for a passing mistake.
        this.#context.control.tell('Template', errorMessage(thrown))
      }
    }
  }

  async #renderAgain(signal: AbortSignal): Promise<void> {
    const followed = this.#templates.filter(({ settings }) => !settings.Once)
    const rendered = await this.#render(followed, signal)
    if (rendered === undefined) return
    const changed: TaskTemplate[] = []
    for (const [template, file] of pairs(followed, rendered)) {
      if (!template.isChanged(file)) continue
      await template.write(file)
      changed.push(template)
    }
    if (changed.length === 0 || signal.aborted) return
    const settings = changed.map((template) => template.settings)
    await applyChangeModes(settings, { ...this.#context, signal })
  }

  /** The files, or undefined while something is missing. */
  async #render(
    templates: readonly TaskTemplate[],
    signal: AbortSignal,
  ): Promise<Rendered | undefined> {
    this.#included.clear()
    for (let round = 0; round < AGENT_LIMITS.templateRoundsMax; round += 1) {
      const outcome = await this.#renderer.render(this.#owner, this.#request(templates), signal)
      // A template that cannot be parsed never can be.
      if (outcome.kind === 'invalid') throw new Fault('task-invalid', `template ${outcome.message}`)
      if (outcome.kind === 'failed') throw templateFault(outcome.message)
      this.#missing = outcome.missing
      const isAnswered = this.#dependencies.follow(outcome.dependencies)
      await this.#include(outcome.wantedFiles)
      if (isAnswered || outcome.wantedFiles.length > 0) continue
      return outcome.missing.length === 0 ? outcome : undefined
    }
    throw templateFault('the templates include too many files')
  }

  #request(templates: readonly TaskTemplate[]): RenderRequest {
    const { environment, clock, node } = this.#context
    const request: RenderRequest = {
      templates: templates.map(({ source }) => source),
      env: environment.env,
      node,
      namespace: this.#owner.namespace,
      nowMs: clock.nowMs(),
      hasCatalog: this.#dependencies.hasCatalog,
      answers: this.#dependencies.answers(),
      files: this.#included,
    }
    const texts = [
      ...request.templates.map(({ text }) => text),
      ...request.answers.values(),
      ...request.files.values(),
    ]
    const chars = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
    const most = AGENT_LIMITS.templateInputCharsMax
    if (chars <= most) return request
    throw templateFault(
      `the templates, files, services and variables of the task have ${chars} characters; at most ${most} are rendered`,
    )
  }

  async #include(paths: readonly string[]): Promise<void> {
    if (this.#included.size + paths.length > AGENT_LIMITS.templateFactsMax) {
      throw templateFault(`the templates include more than ${AGENT_LIMITS.templateFactsMax} files`)
    }
    let chars = 0
    for (const path of paths) {
      const text = await this.#files.include(path)
      this.#included.set(path, text)
      chars += text?.length ?? 0
      // The request says how much is too much; no more of it is read than shows that.
      if (chars > AGENT_LIMITS.templateInputCharsMax) return
    }
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
    if (forMs === undefined) await this.#debounce(signal)
    this.#wake = Promise.withResolvers<void>()
  }

  /** A wait of the job's own: as long as changes go on coming, but not for ever. */
  async #debounce(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context
    const waits = this.#templates.map(({ settings }) => settings.Wait)
    const least = Math.max(
      AGENT_LIMITS.templateGatherMs,
      ...waits.map((wait) => msFromNs(wait?.Min ?? 0)),
    )
    const most = Math.max(least, ...waits.map((wait) => msFromNs(wait?.Max ?? 0)))
    const endMs = clock.monotonicMs() + most
    for (;;) {
      this.#wake = Promise.withResolvers<void>()
      const over = new AbortController()
      const stop = AbortSignal.any([over.signal, signal])
      const leftMs = Math.min(least, endMs - clock.monotonicMs())
      const isQuiet = await Promise.race([
        pause(clock, leftMs, stop),
        this.#wake.promise.then(() => false),
      ])
      over.abort()
      if (isQuiet || signal.aborted || clock.monotonicMs() >= endMs) return
    }
  }
}

function pairs(
  templates: readonly TaskTemplate[],
  { files }: Rendered,
): readonly (readonly [TaskTemplate, RenderedFile])[] {
  return files.flatMap((file, index) => {
    const template = templates[index]
    return template === undefined ? [] : [[template, file] as const]
  })
}
