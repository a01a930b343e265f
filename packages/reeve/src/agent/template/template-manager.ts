import type { ChangeScript, Template } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { ServiceCatalog } from '../services/catalog-client.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskHook, TaskHookContext } from '../task/task-hook.ts'
import { sleep } from '../timing.ts'
import { TemplateDependencies, templateFault } from './dependencies.ts'
import type { TemplateQueueOwner, TemplateRenderer } from './template-renderer.ts'
import type { RenderedFile, RenderOutcome, RenderRequest } from './render-templates.ts'
import { TaskFiles, TaskTemplate } from './task-template.ts'

type Rendered = Extract<RenderOutcome, { kind: 'rendered' }>

/** The templates of one task: rendered before it starts, and again when a dependency changes. */
class TemplateManager {
  readonly #context: TaskHookContext
  readonly #renderer: TemplateRenderer
  readonly #owner: TemplateQueueOwner
  readonly #dependencies: TemplateDependencies
  readonly #files: TaskFiles
  readonly #templates: readonly TaskTemplate[]
  /** Included files; undefined if a file does not exist. */
  readonly #includedFiles = new Map<string, string | undefined>()
  readonly #closed = new AbortController()
  #missing: readonly string[] = []
  #changed = Promise.withResolvers<void>()
  #isWatching = false
  #isLoaded = false

  constructor(
    context: TaskHookContext,
    catalog: ServiceCatalog | undefined,
    renderer: TemplateRenderer,
  ) {
    const { allocation, job } = context.assignment
    const namespace = allocation.Namespace
    this.#context = context
    this.#renderer = renderer
    // Children of a periodic or parameterized job share the queue of their parent.
    this.#owner = { namespace, job: job.ParentID || job.ID }
    this.#files = new TaskFiles(context)
    const changed = (): void => this.#changed.resolve()
    this.#dependencies = new TemplateDependencies({ catalog, namespace, onChange: changed })
    this.#templates = (context.task.Templates ?? []).map(
      (settings) => new TaskTemplate(settings, context, this.#files),
    )
  }

  /** Waits for all dependencies, writes all files, and returns the environment variables. */
  async renderInitial(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    await this.#load()
    const { clock, control } = this.#context
    let lastReported = ''
    let reportAtMs = clock.monotonicMs() + AGENT_LIMITS.templateMissingReportIntervalMs
    for (;;) {
      const rendered = await this.#render(this.#templates, signal)
      if (rendered !== undefined) {
        for (const [template, file] of pairWithFiles(this.#templates, rendered))
          await template.write(file)
        return rendered.env
      }
      await this.#waitForChange(signal, reportAtMs - clock.monotonicMs())
      if (signal.aborted) throw templateFault('the task ended before its templates were rendered')
      // Reports only dependencies that are missing for a while: a task keeps few events.
      if (clock.monotonicMs() < reportAtMs) continue
      reportAtMs = clock.monotonicMs() + AGENT_LIMITS.templateMissingReportIntervalMs
      const missing = this.#missing.join(', ')
      if (missing !== '' && missing !== lastReported)
        control.addEvent('Template', `Missing: ${missing}`)
      lastReported = missing
    }
  }

  /** Continues the templates of a task that the previous agent started, from their files. */
  async resume(): Promise<void> {
    await this.#load()
    for (const template of this.#templates) await template.loadPrevious()
    // The first rendering detects changes since then.
    this.#changed.resolve()
  }

  /** Starts watching the dependencies. Idempotent. */
  watch(): void {
    if (this.#isWatching || this.#templates.every(({ block }) => block.Once)) return
    this.#isWatching = true
    void this.#watchLoop()
  }

  close(): void {
    this.#closed.abort()
    this.#dependencies.close()
    this.#changed.resolve()
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return
    for (const template of this.#templates) await template.load()
    this.#isLoaded = true
  }

  async #watchLoop(): Promise<void> {
    const { signal } = this.#closed
    for (;;) {
      await this.#waitForChange(signal)
      if (signal.aborted) return
      try {
        await this.#rerender(signal)
      } catch (thrown) {
        if (signal.aborted) return
        // The rendered files stay: a running task is not stopped because of a temporary error.
        this.#context.control.addEvent('Template', errorMessage(thrown))
      }
    }
  }

  async #rerender(signal: AbortSignal): Promise<void> {
    const watchedTemplates = this.#templates.filter(({ block }) => !block.Once)
    const rendered = await this.#render(watchedTemplates, signal)
    if (rendered === undefined) return
    const changed: TaskTemplate[] = []
    for (const [template, file] of pairWithFiles(watchedTemplates, rendered)) {
      if (!template.isChanged(file)) continue
      await template.write(file)
      changed.push(template)
    }
    if (changed.length === 0 || signal.aborted) return
    const settings = changed.map((template) => template.block)
    await applyChangeModes(settings, { ...this.#context, signal })
  }

  /** Renders; returns undefined while dependencies are missing. */
  async #render(
    templates: readonly TaskTemplate[],
    signal: AbortSignal,
  ): Promise<Rendered | undefined> {
    this.#includedFiles.clear()
    for (let round = 0; round < AGENT_LIMITS.templateIncludeRoundsMax; round += 1) {
      const outcome = await this.#renderer.render(this.#owner, this.#newRequest(templates), signal)
      // A syntax error is permanent.
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

  #newRequest(templates: readonly TaskTemplate[]): RenderRequest {
    const { environment, clock, node } = this.#context
    const request: RenderRequest = {
      templates: templates.map(({ source }) => source),
      env: environment.env,
      node,
      namespace: this.#owner.namespace,
      nowMs: clock.nowMs(),
      hasCatalog: this.#dependencies.hasCatalog,
      catalogAnswers: this.#dependencies.answers(),
      includedFiles: this.#includedFiles,
    }
    const contents = [
      ...request.templates.map(({ text }) => text),
      ...request.catalogAnswers.values(),
      ...request.includedFiles.values(),
    ]
    const chars = contents.reduce((sum, text) => sum + (text?.length ?? 0), 0)
    const max = AGENT_LIMITS.templateInputCharsMax
    if (chars <= max) return request
    throw templateFault(
      `the templates, files, services and variables of the task have ${chars} characters; at most ${max} are rendered`,
    )
  }

  async #include(paths: readonly string[]): Promise<void> {
    if (this.#includedFiles.size + paths.length > AGENT_LIMITS.templateDependenciesMax) {
      throw templateFault(
        `the templates include more than ${AGENT_LIMITS.templateDependenciesMax} files`,
      )
    }
    let chars = 0
    for (const path of paths) {
      const content = await this.#files.include(path)
      this.#includedFiles.set(path, content)
      chars += content?.length ?? 0
      // The request rejects too much input; read no more than needed to show that.
      if (chars > AGENT_LIMITS.templateInputCharsMax) return
    }
  }

  /** Waits for a change of a dependency, then for further changes (debounce). */
  async #waitForChange(signal: AbortSignal, timeoutMs?: number): Promise<void> {
    const { clock } = this.#context
    const cancelWait = new AbortController()
    const timeout = timeoutMs === undefined ? [] : [sleep(clock, timeoutMs, cancelWait.signal)]
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true, signal: cancelWait.signal })
    })
    const woken = this.#changed.promise.then(() => 'woken' as const)
    const outcome = await Promise.race([woken, aborted, ...timeout])
    cancelWait.abort()
    if (outcome !== 'woken') return
    if (timeoutMs === undefined) await this.#debounce(signal)
    this.#changed = Promise.withResolvers<void>()
  }

  /** Waits for a pause between changes, up to the maximum `wait` of the job. */
  async #debounce(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context
    const waits = this.#templates.map(({ block }) => block.Wait)
    const minWaitMs = Math.max(
      AGENT_LIMITS.templateDebounceMs,
      ...waits.map((wait) => msFromNs(wait?.Min ?? 0)),
    )
    const maxWaitMs = Math.max(minWaitMs, ...waits.map((wait) => msFromNs(wait?.Max ?? 0)))
    const endMs = clock.monotonicMs() + maxWaitMs
    for (;;) {
      this.#changed = Promise.withResolvers<void>()
      const cancelWait = new AbortController()
      const stop = AbortSignal.any([cancelWait.signal, signal])
      const remainingMs = Math.min(minWaitMs, endMs - clock.monotonicMs())
      const isQuiet = await Promise.race([
        sleep(clock, remainingMs, stop),
        this.#changed.promise.then(() => false),
      ])
      cancelWait.abort()
      if (isQuiet || signal.aborted || clock.monotonicMs() >= endMs) return
    }
  }
}

function pairWithFiles(
  templates: readonly TaskTemplate[],
  { files }: Rendered,
): readonly (readonly [TaskTemplate, RenderedFile])[] {
  return files.flatMap((file, index) => {
    const template = templates[index]
    return template === undefined ? [] : [[template, file] as const]
  })
}

/** Renders the templates of a task before each start, and again when a dependency changes. */
export function newTemplateHook(
  catalogOf: (context: TaskHookContext) => ServiceCatalog | undefined,
  renderer: TemplateRenderer,
): () => TaskHook {
  return () => {
    let manager: TemplateManager | undefined
    let isStarted = false
    return {
      name: 'templates',
      runsOnce: false,
      applies: ({ task }) => (task.Templates ?? []).length > 0,
      async beforeStart(context) {
        // Created for each start: the task may have been updated.
        manager?.close()
        manager = new TemplateManager(context, catalogOf(context), renderer)
        return { env: await manager.renderInitial(context.signal) }
      },
      async afterStart(context) {
        if (manager === undefined) {
          manager = new TemplateManager(context, catalogOf(context), renderer)
          await manager.resume()
          isStarted = true
        }
        manager.watch()
        if (isStarted) return
        isStarted = true
        for (const { ChangeMode, ChangeScript: script } of context.task.Templates ?? []) {
          // Not awaited: the task is running, and a script may take time.
          if (ChangeMode === 'script' && script?.RunOnFirstRender === true) {
            void runScript(script, context)
          }
        }
      },
      close: () => manager?.close(),
    }
  }
}

type ChangeContext = Pick<TaskHookContext, 'control' | 'clock' | 'random' | 'signal'>

/**
 * Applies the change modes of changed templates. Several changes act once, after one random splay,
 * and a restart takes precedence.
 */
async function applyChangeModes(
  changed: readonly Template[],
  context: ChangeContext,
): Promise<void> {
  const actionable = changed.filter(({ ChangeMode }) => ChangeMode !== 'noop')
  if (actionable.length === 0) return
  const splayMs = Math.max(...actionable.map(({ Splay }) => msFromNs(Splay)))
  const { clock, random, signal, control } = context
  if (splayMs > 0 && !(await sleep(clock, splayMs * random.next(), signal))) return
  const isRestart = actionable.some(
    ({ ChangeMode }) => ChangeMode === 'restart' || ChangeMode === '',
  )
  try {
    if (isRestart) {
      await control.restart({ reason: 'Template with change_mode restart re-rendered' })
      return
    }
    for (const name of signalsOf(actionable)) await control.signal(name, 'Template re-rendered')
    for (const script of scriptsOf(actionable)) await runScript(script, context)
  } catch (thrown) {
    // A task that is not running gets the new files with its next start.
    if (thrown instanceof Fault && thrown.kind === 'task-not-running') return
    control.addEvent('Template', `Template change not acted on: ${errorMessage(thrown)}`)
  }
}

function signalsOf(templates: readonly Template[]): ReadonlySet<string> {
  const withSignal = templates.filter(({ ChangeMode }) => ChangeMode === 'signal')
  return new Set(
    withSignal.map(({ ChangeSignal }) => (ChangeSignal === '' ? 'SIGHUP' : ChangeSignal)),
  )
}

function scriptsOf(templates: readonly Template[]): readonly ChangeScript[] {
  return templates.flatMap(({ ChangeMode, ChangeScript: script }) => {
    return ChangeMode === 'script' && script !== null ? [script] : []
  })
}

/** Default timeout of a change script. */
const DEFAULT_SCRIPT_TIMEOUT_MS = 5_000

/**
 * Runs a change script in the task. A failure becomes an event, and kills the task if configured.
 */
async function runScript(script: ChangeScript, context: ChangeContext): Promise<void> {
  const { control } = context
  const problem = await runScriptOnce(script, context)
  if (problem === undefined) return
  const Message = `Template ran script ${JSON.stringify(script.Command)}: ${problem}`
  if (!script.FailOnError) {
    control.addEvent('Template', Message)
    return
  }
  const cause = { type: 'Template', fields: { Message, FailsTask: true } } as const
  void control.kill({ cause, reason: 'Template script failed', skipShutdownDelay: false })
}

async function runScriptOnce(
  script: ChangeScript,
  { control, clock, signal }: ChangeContext,
): Promise<string | undefined> {
  const timeoutMs = script.Timeout > 0 ? msFromNs(script.Timeout) : DEFAULT_SCRIPT_TIMEOUT_MS
  const cancelTimeout = new AbortController()
  try {
    const command = [script.Command, ...(script.Args ?? [])]
    const session = await control.exec({ command, tty: undefined })
    session.stdin.end()
    session.stdout.resume()
    session.stderr.resume()
    const timeout = sleep(clock, timeoutMs, AbortSignal.any([cancelTimeout.signal, signal]))
    const code = await Promise.race([session.exited, timeout.then(() => undefined)])
    if (code === 0) return undefined
    if (code !== undefined) return `it ended with code ${code}`
    session.hangUp()
    return `it took longer than ${timeoutMs} ms`
  } catch (thrown) {
    return errorMessage(thrown)
  } finally {
    cancelTimeout.abort()
  }
}
