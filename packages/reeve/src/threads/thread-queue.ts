import { Worker, type Transferable } from 'node:worker_threads'
import type { Clock } from '@reeve/kit/clock.ts'
import { FairQueue, type QueueRejection } from '@reeve/kit/fair-queue.ts'
import { Fault } from '@reeve/kit/fault.ts'

/** A message of the thread: it can take tasks, then one outcome for each. */
export type ThreadMessage<Outcome> =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done'
      readonly outcome: Outcome
      /** Memory that the thread holds after the task, garbage included. */
      readonly heldBytes: number
    }

/** The result of a task. */
export type ThreadResult<Outcome> =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** The task exceeded its time or the memory of the thread; the thread was replaced. */
  | { readonly kind: 'too-slow' }
  | { readonly kind: 'too-large' }
  /** The task was rejected or dropped before it was started. */
  | { readonly kind: 'overloaded'; readonly cause: OverloadCause }

/** A full queue, of the tenant or of all tenants together, or a task that waited too long. */
export type OverloadCause = QueueRejection | 'waited-too-long'

export interface ThreadLimits {
  /** Wall time of one task. */
  readonly msMax: number
  /** Memory of the thread. */
  readonly megabytesMax: number
  /** Tasks that wait for the thread, of all tenants together. */
  readonly waitingMax: number
  readonly waitingPerTenantMax: number
  /** A task that has waited longer is dropped when the thread becomes free. */
  readonly waitMsMax: number
}

/** The origin of a task: tenants are served in turn. */
export interface TaskOrigin {
  readonly tenant: string
  /** Drops the task if it has not been started: its caller is gone. */
  readonly signal?: AbortSignal | undefined
}

interface ThreadQueueOptions {
  readonly clock: Clock
  /** The program of the thread: sends `ready`, then answers each task. */
  readonly file: URL
  /** The purpose of the thread, for errors: `reads job files`. */
  readonly does: string
  readonly limits: ThreadLimits
  /** Data for the thread when it starts. */
  readonly data?: string
  /** A new thread has nothing of what the last one was sent. */
  readonly started?: () => void
}

interface Waiting<Task, Outcome> {
  readonly tenant: string
  readonly queuedMs: number
  /** Creates the task when its turn comes: what the thread has by then decides what is sent. */
  readonly task: () => Task
  /** The parts of the task that are moved to the thread instead of copied. */
  readonly transfer: readonly Transferable[]
  readonly settle: (result: ThreadResult<Outcome>) => void
  readonly fail: (thrown: Error) => void
}

/** The young generation of a thread, as Node has it by default; that of the server is larger. */
const YOUNG_MEGABYTES_MAX = 48

/**
 * An idle thread that holds more ends after a moment. Threads hold 20 to 50 MB once they have
 * loaded their code, and a few seconds of small tasks do not bring them here: what they have
 * compiled stays. To start again takes some 200 ms.
 */
export const IDLE_BYTES_MAX = 64 * 1024 * 1024
export const IDLE_MS = 2_000

/** Thread time that one turn of a tenant is worth: a tenant with longer tasks has fewer turns. */
const TURN_MS = 50

/**
 * Runs tasks on a separate thread (decision 0065), so that requests are answered meanwhile. The
 * thread runs one task at a time and serves tenants in turn: a tenant with a long backlog delays
 * only itself. The thread starts with the first task, does not keep the process alive while it is
 * idle, and is replaced when a task takes too long or too much memory. A thread that is idle while
 * it holds much memory ends: its heap would not shrink before its next tasks (decision 0091).
 */
export class ThreadQueue<Task, Outcome> {
  readonly #options: ThreadQueueOptions
  /** Every task that waits; those that were dropped stay in the queue until it needs the room. */
  readonly #waiting = new Set<Waiting<Task, Outcome>>()
  readonly #queue: FairQueue<Waiting<Task, Outcome>>
  /** The task that the thread is running. */
  #current: Waiting<Task, Outcome> | undefined
  #startedMs = 0
  #worker: Worker | undefined
  #isReady = false
  #stopTimer: () => void = () => undefined
  /** Memory that the thread held after its last task. */
  #heldBytes = 0
  #stopIdleTimer: () => void = () => undefined

  constructor(options: ThreadQueueOptions) {
    this.#options = options
    this.#queue = new FairQueue({
      itemsMax: options.limits.waitingMax,
      itemsPerTenantMax: options.limits.waitingPerTenantMax,
      quantum: TURN_MS,
    })
  }

  /** Whether there is a thread: it starts with a task, and may end when it is idle. */
  get hasThread(): boolean {
    return this.#worker !== undefined
  }

  /** Tasks that wait or are being run. */
  get size(): number {
    return this.#waiting.size + (this.#current === undefined ? 0 : 1)
  }

  run(
    task: () => Task,
    { tenant, signal }: TaskOrigin,
    transfer: readonly Transferable[] = NOTHING_TRANSFERRED,
  ): Promise<ThreadResult<Outcome>> {
    return new Promise((settle, fail) => {
      if (signal?.aborted === true) return fail(cancelled())
      const queuedMs = this.#options.clock.monotonicMs()
      const waiting = { tenant, queuedMs, task, transfer, settle, fail }
      const rejection = this.#push(waiting)
      if (rejection !== undefined) return settle({ kind: 'overloaded', cause: rejection })
      const drop = (): void => {
        if (this.#waiting.delete(waiting)) fail(cancelled())
      }
      signal?.addEventListener('abort', drop, { once: true })
      this.#next()
    })
  }

  /** Ends the thread; tasks that are not done by then fail. A later task starts another one. */
  async stop(): Promise<void> {
    const stopped = new Fault('thread-stopped', 'The server is stopping')
    for (const waiting of this.#waiting) waiting.fail(stopped)
    this.#waiting.clear()
    this.#queue.drain()
    this.#finish()?.fail(stopped)
    await this.#drop()
  }

  #push(waiting: Waiting<Task, Outcome>): QueueRejection | undefined {
    const rejection = this.#queue.push(waiting.tenant, waiting, TURN_MS)
    if (rejection === undefined) {
      this.#waiting.add(waiting)
      return undefined
    }
    if (this.#queue.size === this.#waiting.size) return rejection
    // Dropped tasks fill the queue: only those that still wait are queued again, in their order.
    for (const item of this.#queue.drain())
      if (this.#waiting.has(item)) this.#queue.push(item.tenant, item, TURN_MS)
    return this.#push(waiting)
  }

  #next(): void {
    if (this.#current !== undefined) return
    this.#stopIdleTimer()
    this.#dropLate()
    if (this.#waiting.size === 0) return this.#idle()
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    // The time to load the thread is not charged to the task.
    if (!this.#isReady) return
    this.#current = this.#take()
    if (this.#current === undefined) return
    const { clock, limits } = this.#options
    this.#startedMs = clock.monotonicMs()
    this.#stopTimer = clock.after(limits.msMax, () => this.#giveUp())
    worker.postMessage(this.#current.task(), this.#current.transfer)
  }

  /** A heap is collected while its thread allocates: what an idle one holds stays as it is. */
  #idle(): void {
    if (this.#heldBytes <= IDLE_BYTES_MAX) return
    const { clock } = this.#options
    this.#stopIdleTimer = clock.after(IDLE_MS, () => void this.#drop())
  }

  /** The next task in fair order that has not been dropped. */
  #take(): Waiting<Task, Outcome> | undefined {
    for (let item = this.#queue.take(); item !== undefined; item = this.#queue.take())
      if (this.#waiting.delete(item)) return item
    return undefined
  }

  #dropLate(): void {
    const { clock, limits } = this.#options
    const nowMs = clock.monotonicMs()
    for (const waiting of this.#waiting) {
      // The oldest come first.
      if (nowMs - waiting.queuedMs <= limits.waitMsMax) return
      this.#waiting.delete(waiting)
      waiting.settle({ kind: 'overloaded', cause: 'waited-too-long' })
    }
  }

  #start(): Worker {
    const { file, limits, started, data } = this.#options
    const worker = new Worker(file, {
      workerData: data,
      resourceLimits: {
        maxOldGenerationSizeMb: limits.megabytesMax,
        maxYoungGenerationSizeMb: YOUNG_MEGABYTES_MAX,
      },
    })
    started?.()
    // Messages of a replaced thread are about tasks that were given up.
    const isCurrent = (): boolean => worker === this.#worker
    worker.on('message', (message: ThreadMessage<Outcome>) => {
      if (isCurrent()) this.#receive(message)
    })
    worker.on('error', (thrown: unknown) => {
      if (isCurrent()) this.#lose(thrown)
    })
    worker.on('exit', () => {
      if (isCurrent()) this.#lose(undefined)
    })
    return worker
  }

  #receive(message: ThreadMessage<Outcome>): void {
    if (message.kind === 'ready') this.#isReady = true
    else {
      this.#heldBytes = message.heldBytes
      this.#finish()?.settle({ kind: 'done', outcome: message.outcome })
    }
    this.#next()
  }

  /** The task that was being run, which is over in one way or another. */
  #finish(): Waiting<Task, Outcome> | undefined {
    const finished = this.#current
    this.#current = undefined
    this.#stopTimer()
    this.#worker?.unref()
    if (finished === undefined) return undefined
    const spentMs = this.#options.clock.monotonicMs() - this.#startedMs
    if (spentMs > TURN_MS) this.#queue.charge(finished.tenant, spentMs - TURN_MS)
    return finished
  }

  #giveUp(): void {
    this.#finish()?.settle({ kind: 'too-slow' })
    void this.#drop()
    this.#next()
  }

  /** The thread is gone: a task was too much for its memory, or there is a bug. */
  #lose(thrown: unknown): void {
    this.#forget()
    const lost = this.#finish() ?? this.#take()
    if (isOutOfMemory(thrown)) lost?.settle({ kind: 'too-large' })
    else lost?.fail(new Error(`the thread that ${this.#options.does} failed`, { cause: thrown }))
    this.#next()
  }

  async #drop(): Promise<void> {
    const worker = this.#worker
    this.#forget()
    await worker?.terminate()
  }

  #forget(): void {
    this.#worker = undefined
    this.#isReady = false
    this.#heldBytes = 0
    this.#stopIdleTimer()
  }
}

/** Most tasks are texts, which are copied. */
const NOTHING_TRANSFERRED: readonly Transferable[] = []

/** The text of a refusal: which limit was reached, and what to do. `tasks` are called in plural. */
export function overloadMessage(
  cause: OverloadCause,
  tasks: string,
  limits: Pick<ThreadLimits, 'waitingMax' | 'waitingPerTenantMax' | 'waitMsMax'>,
): string {
  const { waitingMax, waitingPerTenantMax, waitMsMax } = limits
  switch (cause) {
    case 'tenant-full':
      return `too many ${tasks} of this caller are waiting (limit ${waitingPerTenantMax} per tenant); retry when some of them are done`
    case 'full':
      return `too many ${tasks} are waiting on this server (limit ${waitingMax}); retry in a few seconds`
    case 'waited-too-long':
      return `the request waited longer than ${waitMsMax / 1000} s for other ${tasks}; retry later`
  }
}

function cancelled(): Fault {
  return new Fault('cancelled', 'The caller closed the connection before its task was started')
}

function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
