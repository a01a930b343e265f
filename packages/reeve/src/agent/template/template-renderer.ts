import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { ThreadQueue, type ThreadResult } from '../../threads/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { templateFault } from './dependencies.ts'
import type { RenderOutcome, RenderRequest } from './render-templates.ts'

/** Message to a rendering thread. */
export interface RenderTask {
  readonly request: RenderRequest
  /** Shared memory: the index of the template that is being rendered. */
  readonly progress: Int32Array<SharedArrayBuffer>
}

interface RendererLimits {
  /** Time limit of one rendering. */
  readonly timeoutMs: number
  /** Heap limit of each thread. */
  readonly heapMB: number
  readonly threadsMax: number
  /** Idle time after which threads are stopped. */
  readonly idleMs: number
}

const DEFAULT_LIMITS: RendererLimits = {
  timeoutMs: AGENT_LIMITS.templateRenderTimeoutMs,
  heapMB: AGENT_LIMITS.templateThreadHeapMB,
  threadsMax: AGENT_LIMITS.templateThreadsMax,
  idleMs: AGENT_LIMITS.templateThreadIdleMs,
}

interface QueuedRender {
  readonly owner: TemplateQueueOwner
  readonly request: RenderRequest
  readonly settle: (outcome: RenderOutcome) => void
  readonly fail: (thrown: Error) => void
}

type Thread = ThreadQueue<RenderTask, RenderOutcome>

/**
 * Renders templates on threads (decision 0065), so that no template blocks the agent. A job has one
 * rendering at a time, scheduled fairly between jobs. Threads start on demand and stop when idle.
 */
export class TemplateRenderer {
  readonly #limits: RendererLimits
  readonly #queue = new TemplateQueue<QueuedRender>()
  readonly #busyJobs = new Set<string>()
  readonly #threads: Thread[] = []
  #cancelIdle: () => void = () => undefined

  constructor(limits: Partial<RendererLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
  }

  /**
   * Renders; template errors are part of the outcome. Fault `task-template` if a limit is exceeded
   * or `signal` is aborted.
   */
  render(
    owner: TemplateQueueOwner,
    request: RenderRequest,
    signal: AbortSignal,
  ): Promise<RenderOutcome> {
    return new Promise((settle, reject) => {
      if (signal.aborted) {
        reject(abandonedFault())
        return
      }
      const abandon = (): void => {
        this.#queue.remove(queued)
        reject(abandonedFault())
      }
      const fail = (thrown: Error): void => {
        signal.removeEventListener('abort', abandon)
        reject(thrown)
      }
      const resolve = (outcome: RenderOutcome): void => {
        signal.removeEventListener('abort', abandon)
        settle(outcome)
      }
      const queued: QueuedRender = { owner, request, settle: resolve, fail }
      signal.addEventListener('abort', abandon, { once: true })
      this.#queue.push(queued)
      this.#startNext()
    })
  }

  /** Stops the threads; pending renderings fail. */
  async stop(): Promise<void> {
    this.#cancelIdle()
    for (const { fail } of this.#queue.drain()) fail(abandonedFault())
    await this.#stopThreads()
  }

  #startNext(): void {
    for (;;) {
      const thread = this.#threads.find(({ size }) => size === 0) ?? this.#startThread()
      if (thread === undefined) return
      const queued = this.#queue.shift((owner) => !this.#busyJobs.has(ownerKey(owner)))
      if (queued === undefined) return
      void this.#runOn(thread, queued)
    }
  }

  /** Starts a thread on demand. */
  #startThread(): Thread | undefined {
    const { threadsMax, timeoutMs, heapMB } = this.#limits
    if (this.#threads.length >= threadsMax) return undefined
    const thread: Thread = new ThreadQueue({
      clock: systemClock,
      file: new URL('./template-worker.ts', import.meta.url),
      description: 'renders templates',
      // The renderer hands over one rendering at a time to an idle thread.
      limits: {
        timeoutMs,
        megabytesMax: heapMB,
        waitingMax: 1,
        waitingPerTenantMax: 1,
        waitMsMax: 60_000,
      },
    })
    this.#threads.push(thread)
    return thread
  }

  async #runOn(thread: Thread, queued: QueuedRender): Promise<void> {
    const { owner, request, settle, fail } = queued
    const key = ownerKey(owner)
    this.#busyJobs.add(key)
    this.#cancelIdle()
    const progress = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    try {
      const result = await thread.run(() => ({ request, progress }), { tenant: key })
      const name = request.templates[Atomics.load(progress, 0)]?.name ?? ''
      settle(unwrapThreadResult(result, name, this.#limits))
    } catch (thrown) {
      fail(thrown instanceof Error ? thrown : new Error(errorMessage(thrown)))
    } finally {
      this.#busyJobs.delete(key)
      this.#startNext()
      this.#stopWhenIdle()
    }
  }

  #stopWhenIdle(): void {
    this.#cancelIdle()
    if (this.#busyJobs.size > 0) return
    this.#cancelIdle = systemClock.after(this.#limits.idleMs, () => void this.#stopThreads())
  }

  async #stopThreads(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.stop()))
  }
}

function ownerKey({ namespace, job }: TemplateQueueOwner): string {
  return JSON.stringify([namespace, job])
}

function abandonedFault(): Error {
  return templateFault('the task ended before its templates were rendered')
}

function unwrapThreadResult(
  result: ThreadResult<RenderOutcome>,
  name: string,
  { timeoutMs, heapMB }: RendererLimits,
): RenderOutcome {
  const operation = `rendering ${JSON.stringify(name)}`
  const advice = 'simplify the template, or move the work into the task'
  switch (result.kind) {
    case 'done':
      return result.outcome
    case 'too-slow':
      throw templateFault(`${operation} took longer than ${timeoutMs / 1_000} s; ${advice}`)
    case 'too-large':
      throw templateFault(`${operation} needed more than ${heapMB} MB of memory; ${advice}`)
    case 'overloaded':
      throw templateFault('too many renderings are waiting')
  }
}

/** Time of the machine: threads do not follow the clock that the agent was given. */
const systemClock: Clock = {
  nowMs: () => performance.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

/** Queue to which an item belongs. */
export interface TemplateQueueOwner {
  readonly namespace: string
  readonly job: string
}

/**
 * Fair queue: round-robin between namespaces, then between the jobs of a namespace, in order within
 * a job. A job with many items only delays its own.
 */
export class TemplateQueue<Item extends { readonly owner: TemplateQueueOwner }> {
  readonly #namespaces = new Map<string, Map<string, Item[]>>()

  push(item: Item): void {
    const { namespace, job } = item.owner
    const jobs = this.#namespaces.get(namespace) ?? new Map<string, Item[]>()
    const items = jobs.get(job) ?? []
    items.push(item)
    this.#namespaces.set(namespace, jobs.set(job, items))
  }

  /** The next item of an eligible owner; undefined if there is none. */
  shift(mayRun: (owner: TemplateQueueOwner) => boolean): Item | undefined {
    for (const [namespace, jobs] of this.#namespaces) {
      for (const [job, items] of jobs) {
        if (!mayRun({ namespace, job })) continue
        const item = items.shift()
        // Maps keep insertion order: move the owner to the end.
        jobs.delete(job)
        if (items.length > 0) jobs.set(job, items)
        this.#namespaces.delete(namespace)
        if (jobs.size > 0) this.#namespaces.set(namespace, jobs)
        return item
      }
    }
    return undefined
  }

  remove(item: Item): void {
    const { namespace, job } = item.owner
    const jobs = this.#namespaces.get(namespace)
    const remaining = jobs?.get(job)?.filter((queued) => queued !== item) ?? []
    if (remaining.length > 0) jobs?.set(job, remaining)
    else jobs?.delete(job)
    if (jobs?.size === 0) this.#namespaces.delete(namespace)
  }

  /** Removes and returns all items. */
  drain(): readonly Item[] {
    const all = [...this.#namespaces.values()].flatMap((jobs) => [...jobs.values()].flat())
    this.#namespaces.clear()
    return all
  }
}
