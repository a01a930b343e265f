import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { ThreadQueue, type ThreadResult } from '../../threads/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { templateFault } from './dependencies.ts'
import { FairQueue, type QueueOwner } from './fair-queue.ts'
import type { RenderOutcome, RenderRequest } from './render-templates.ts'

/** What a thread is sent. */
export interface RenderTask {
  readonly request: RenderRequest
  /** Shared memory: the index of the template that is being rendered. */
  readonly progress: Int32Array<SharedArrayBuffer>
}

interface RendererLimits {
  /** Wall time of one rendering. */
  readonly msMax: number
  /** Memory of each thread. */
  readonly megabytesMax: number
  readonly threadsMax: number
  /** Threads that had nothing to do for this long are stopped. */
  readonly idleMs: number
}

const LIMITS: RendererLimits = {
  msMax: AGENT_LIMITS.templateMsMax,
  megabytesMax: AGENT_LIMITS.templateMegabytesMax,
  threadsMax: AGENT_LIMITS.templateThreadsMax,
  idleMs: AGENT_LIMITS.templateIdleMs,
}

interface Waiting {
  readonly owner: QueueOwner
  readonly request: RenderRequest
  readonly settle: (outcome: RenderOutcome) => void
  readonly fail: (thrown: Error) => void
}

type Thread = ThreadQueue<RenderTask, RenderOutcome>

/**
 * Renders templates on threads of their own (decision 0065), so that no template can stall the
 * agent. A job has one rendering at a time, and jobs take turns. Threads start with the first
 * rendering and stop when there is nothing to do.
 */
export class TemplateRenderer {
  readonly #limits: RendererLimits
  readonly #waiting = new FairQueue<Waiting>()
  readonly #busyJobs = new Set<string>()
  readonly #threads: Thread[] = []
  #cancelIdle: () => void = () => undefined

  constructor(limits: Partial<RendererLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /**
   * The outcome, also of a template that is wrong. Fault `task-template` when it costs more than it
   * may, or when `signal` fires first.
   */
  render(owner: QueueOwner, request: RenderRequest, signal: AbortSignal): Promise<RenderOutcome> {
    return new Promise((settle, reject) => {
      if (signal.aborted) {
        reject(abandoned())
        return
      }
      const abandon = (): void => {
        this.#waiting.remove(waiting)
        reject(abandoned())
      }
      const fail = (thrown: Error): void => {
        signal.removeEventListener('abort', abandon)
        reject(thrown)
      }
      const done = (outcome: RenderOutcome): void => {
        signal.removeEventListener('abort', abandon)
        settle(outcome)
      }
      const waiting: Waiting = { owner, request, settle: done, fail }
      signal.addEventListener('abort', abandon, { once: true })
      this.#waiting.push(waiting)
      this.#next()
    })
  }

  /** Ends the threads; what is not rendered by then fails. */
  async stop(): Promise<void> {
    this.#cancelIdle()
    for (const { fail } of this.#waiting.drain()) fail(abandoned())
    await this.#stopThreads()
  }

  #next(): void {
    for (;;) {
      const thread = this.#threads.find(({ size }) => size === 0) ?? this.#startThread()
      if (thread === undefined) return
      const next = this.#waiting.take((owner) => !this.#busyJobs.has(keyOf(owner)))
      if (next === undefined) return
      void this.#run(thread, next)
    }
  }

  /** No thread starts before its first task. */
  #startThread(): Thread | undefined {
    const { threadsMax, msMax, megabytesMax } = this.#limits
    if (this.#threads.length >= threadsMax) return undefined
    const thread: Thread = new ThreadQueue({
      clock: machineClock,
      file: new URL('./template-worker.ts', import.meta.url),
      does: 'renders templates',
      // The renderer hands over one rendering at a time, when the thread is free.
      limits: { msMax, megabytesMax, waitingMax: 1, waitingPerTenantMax: 1, waitMsMax: 60_000 },
    })
    this.#threads.push(thread)
    return thread
  }

  async #run(thread: Thread, waiting: Waiting): Promise<void> {
    const { owner, request, settle, fail } = waiting
    const key = keyOf(owner)
    this.#busyJobs.add(key)
    this.#cancelIdle()
    const progress = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    try {
      const result = await thread.run(() => ({ request, progress }), { tenant: key })
      const name = request.templates[Atomics.load(progress, 0)]?.name ?? ''
      settle(outcomeOf(result, name, this.#limits))
    } catch (thrown) {
      fail(thrown instanceof Error ? thrown : new Error(errorMessage(thrown)))
    } finally {
      this.#busyJobs.delete(key)
      this.#next()
      this.#stopWhenIdle()
    }
  }

  #stopWhenIdle(): void {
    this.#cancelIdle()
    if (this.#busyJobs.size > 0) return
    this.#cancelIdle = machineClock.after(this.#limits.idleMs, () => void this.#stopThreads())
  }

  async #stopThreads(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.stop()))
  }
}

function keyOf({ namespace, job }: QueueOwner): string {
  return JSON.stringify([namespace, job])
}

function abandoned(): Error {
  return templateFault('the task ended before its templates were rendered')
}

function outcomeOf(
  result: ThreadResult<RenderOutcome>,
  name: string,
  { msMax, megabytesMax }: RendererLimits,
): RenderOutcome {
  const rendering = `rendering ${JSON.stringify(name)}`
  const advice = 'simplify the template, or move the work into the task'
  switch (result.kind) {
    case 'done':
      return result.outcome
    case 'too-slow':
      throw templateFault(`${rendering} took longer than ${msMax / 1_000} s; ${advice}`)
    case 'too-large':
      throw templateFault(`${rendering} needed more than ${megabytesMax} MB of memory; ${advice}`)
    case 'overloaded':
      throw templateFault('too many renderings are waiting')
  }
}

/** A thread works in the time of the machine, whatever clock the agent is given. */
const machineClock: Clock = {
  nowMs: () => performance.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs).unref()
    return () => clearTimeout(timer)
  },
}
