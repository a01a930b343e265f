import { getHeapStatistics } from 'node:v8'
import { Worker, type Transferable, parentPort } from 'node:worker_threads'
import type { Clock } from '@reeve/kit/clock.ts'
import { FairQueue, type QueueRejection } from '@reeve/kit/fair-queue.ts'
import { Fault, withReplacedProgram } from '@reeve/kit/fault.ts'

/** A message from the thread: `ready` once, then one outcome for each task. */
type ThreadMessage<Outcome> =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done'
      readonly outcome: Outcome
      /** Memory that the thread uses after the task, including garbage. */
      readonly heldBytes: number
    }

/** The result of a task. */
export type ThreadResult<Outcome> =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** The task exceeded its time or the thread's memory; the thread was replaced. */
  | { readonly kind: 'too-slow' }
  | { readonly kind: 'too-large' }
  /** The task was rejected or dropped before it was started. */
  | { readonly kind: 'overloaded'; readonly cause: OverloadCause }

/** The queue of the tenant or of all tenants is full, or the task has waited too long. */
export type OverloadCause = QueueRejection | 'waited-too-long'

export interface ThreadLimits {
  /** Maximum wall time of one task. */
  readonly timeoutMs: number
  /** Maximum memory of the thread. */
  readonly megabytesMax: number
  /** Maximum number of queued tasks of all tenants. */
  readonly waitingMax: number
  readonly waitingPerTenantMax: number
  /** A queued task that has waited longer is rejected when the thread becomes free. */
  readonly waitMsMax: number
}

/** The tenant of a task; tenants are served round-robin. */
export interface TaskOrigin {
  readonly tenant: string
  /** Drops the task if it has not started: the client has disconnected. */
  readonly signal?: AbortSignal | undefined
}

interface ThreadQueueOptions {
  readonly clock: Clock
  /** Module of the thread, which calls `serveThread`. */
  readonly file: URL
  /** The purpose of the thread, for errors: `reads job files`. */
  readonly description: string
  readonly limits: ThreadLimits
  /** Data for the thread when it starts. */
  readonly workerData?: string
  /** Called after the start of each thread: a new one has none of the data sent to the last one. */
  readonly onStart?: () => void
}

interface QueuedTask<Task, Outcome> {
  readonly tenant: string
  readonly queuedMs: number
  /**
   * Creates the task when it is about to run: its content depends on what the thread already has.
   */
  readonly createTask: () => Task
  /** Buffers of the task that are moved to the thread instead of copied. */
  readonly transfer: readonly Transferable[]
  readonly settle: (result: ThreadResult<Outcome>) => void
  readonly fail: (thrown: Error) => void
}

/** Limit of a thread's young generation: Node's default. The server's own is larger. */
const YOUNG_GENERATION_MB_MAX = 48

/**
 * An idle thread that uses more memory is terminated after `IDLE_MS`. Threads use 20 to 50 MB once
 * their code is loaded; a few seconds of small tasks stay below this limit, so their compiled code
 * is kept. Starting a thread takes about 200 ms.
 */
export const IDLE_BYTES_MAX = 64 * 1024 * 1024
export const IDLE_MS = 2_000

/** Thread time per turn of a tenant: a tenant with longer tasks gets fewer turns. */
const QUANTUM_MS = 50

/**
 * Runs tasks on a separate thread (decision 0065), so that requests are answered meanwhile. The
 * thread runs one task at a time and serves tenants round-robin: a tenant with a long backlog
 * delays only itself. The thread starts with the first task, does not keep the process alive while
 * it is idle, and is replaced when a task exceeds its time or memory. An idle thread that uses much
 * memory is terminated: its heap would not shrink before its next tasks (decision 0091).
 */
export class ThreadQueue<Task, Outcome> {
  readonly #options: ThreadQueueOptions
  /**
   * Queued tasks. Cancelled ones are removed here at once, and from `#queue` only when it is full.
   */
  readonly #waiting = new Set<QueuedTask<Task, Outcome>>()
  readonly #queue: FairQueue<QueuedTask<Task, Outcome>>
  /** The task that the thread is running. */
  #current: QueuedTask<Task, Outcome> | undefined
  #startedMs = 0
  #worker: Worker | undefined
  #isReady = false
  #cancelTimeout: () => void = () => undefined
  /** Memory that the thread held after its last task. */
  #memoryBytes = 0
  #cancelIdleStop: () => void = () => undefined

  constructor(options: ThreadQueueOptions) {
    this.#options = options
    this.#queue = new FairQueue({
      itemsMax: options.limits.waitingMax,
      itemsPerTenantMax: options.limits.waitingPerTenantMax,
      quantum: QUANTUM_MS,
    })
  }

  /** Reports whether a thread is running. */
  get hasThread(): boolean {
    return this.#worker !== undefined
  }

  /** Number of queued and running tasks. */
  get size(): number {
    return this.#waiting.size + (this.#current === undefined ? 0 : 1)
  }

  run(
    task: () => Task,
    { tenant, signal }: TaskOrigin,
    transfer: readonly Transferable[] = NOTHING_TRANSFERRED,
  ): Promise<ThreadResult<Outcome>> {
    return new Promise((settle, fail) => {
      if (signal?.aborted === true) return fail(cancelledFault())
      const queuedMs = this.#options.clock.monotonicMs()
      const waiting = { tenant, queuedMs, createTask: task, transfer, settle, fail }
      const rejection = this.#push(waiting)
      if (rejection !== undefined) return settle({ kind: 'overloaded', cause: rejection })
      const cancel = (): void => {
        if (this.#waiting.delete(waiting)) fail(cancelledFault())
      }
      signal?.addEventListener('abort', cancel, { once: true })
      this.#runNext()
    })
  }

  /** Terminates the thread; unfinished tasks fail. A later task starts another thread. */
  async stop(): Promise<void> {
    const stopped = new Fault('thread-stopped', 'The server is stopping')
    for (const waiting of this.#waiting) waiting.fail(stopped)
    this.#waiting.clear()
    this.#queue.drain()
    this.#takeCurrent()?.fail(stopped)
    await this.#terminateThread()
  }

  #push(waiting: QueuedTask<Task, Outcome>): QueueRejection | undefined {
    const rejection = this.#queue.push(waiting.tenant, waiting, QUANTUM_MS)
    if (rejection === undefined) {
      this.#waiting.add(waiting)
      return undefined
    }
    if (this.#queue.size === this.#waiting.size) return rejection
    // Cancelled tasks fill the queue: rebuild it with the others in their order.
    for (const item of this.#queue.drain())
      if (this.#waiting.has(item)) this.#queue.push(item.tenant, item, QUANTUM_MS)
    return this.#push(waiting)
  }

  #runNext(): void {
    if (this.#current !== undefined) return
    this.#cancelIdleStop()
    this.#rejectExpired()
    if (this.#waiting.size === 0) return this.#scheduleIdleStop()
    const worker = (this.#worker ??= this.#startThread())
    worker.ref()
    // The time to load the thread's code does not count towards the task's time limit.
    if (!this.#isReady) return
    this.#current = this.#takeQueued()
    if (this.#current === undefined) return
    const { clock, limits } = this.#options
    this.#startedMs = clock.monotonicMs()
    this.#cancelTimeout = clock.after(limits.timeoutMs, () => this.#onTimeout())
    worker.postMessage(this.#current.createTask(), this.#current.transfer)
  }

  /** A heap is collected only while its thread allocates, so an idle thread keeps its garbage. */
  #scheduleIdleStop(): void {
    if (this.#memoryBytes <= IDLE_BYTES_MAX) return
    const { clock } = this.#options
    this.#cancelIdleStop = clock.after(IDLE_MS, () => void this.#terminateThread())
  }

  /** Takes the next task in fair order that was not cancelled. */
  #takeQueued(): QueuedTask<Task, Outcome> | undefined {
    for (let item = this.#queue.take(); item !== undefined; item = this.#queue.take())
      if (this.#waiting.delete(item)) return item
    return undefined
  }

  #rejectExpired(): void {
    const { clock, limits } = this.#options
    const nowMs = clock.monotonicMs()
    for (const waiting of this.#waiting) {
      // Tasks are in the order of their arrival.
      if (nowMs - waiting.queuedMs <= limits.waitMsMax) return
      this.#waiting.delete(waiting)
      waiting.settle({ kind: 'overloaded', cause: 'waited-too-long' })
    }
  }

  #startThread(): Worker {
    const { file, limits, onStart, workerData } = this.#options
    const worker = new Worker(file, {
      workerData: workerData,
      resourceLimits: {
        maxOldGenerationSizeMb: limits.megabytesMax,
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MB_MAX,
      },
    })
    onStart?.()
    // Messages of a replaced thread belong to tasks that have already failed.
    const isCurrent = (): boolean => worker === this.#worker
    worker.on('message', (message: ThreadMessage<Outcome>) => {
      if (isCurrent()) this.#receive(message)
    })
    worker.on('error', (thrown: unknown) => {
      if (isCurrent()) this.#onThreadExit(thrown)
    })
    worker.on('exit', () => {
      if (isCurrent()) this.#onThreadExit(undefined)
    })
    return worker
  }

  #receive(message: ThreadMessage<Outcome>): void {
    if (message.kind === 'ready') this.#isReady = true
    else {
      this.#memoryBytes = message.heldBytes
      this.#takeCurrent()?.settle({ kind: 'done', outcome: message.outcome })
    }
    this.#runNext()
  }

  /** Removes and returns the running task, and charges its time to the tenant. */
  #takeCurrent(): QueuedTask<Task, Outcome> | undefined {
    const finished = this.#current
    this.#current = undefined
    this.#cancelTimeout()
    this.#worker?.unref()
    if (finished === undefined) return undefined
    const spentMs = this.#options.clock.monotonicMs() - this.#startedMs
    if (spentMs > QUANTUM_MS) this.#queue.charge(finished.tenant, spentMs - QUANTUM_MS)
    return finished
  }

  #onTimeout(): void {
    this.#takeCurrent()?.settle({ kind: 'too-slow' })
    void this.#terminateThread()
    this.#runNext()
  }

  /** Handles the end of the thread: a task exceeded its memory, or there is a bug. */
  #onThreadExit(thrown: unknown): void {
    this.#resetThread()
    const failed = this.#takeCurrent() ?? this.#takeQueued()
    const cause = withReplacedProgram(thrown)
    if (isOutOfMemory(thrown)) failed?.settle({ kind: 'too-large' })
    else if (cause instanceof Fault) failed?.fail(cause)
    else failed?.fail(new Error(`the thread that ${this.#options.description} failed`, { cause }))
    this.#runNext()
  }

  async #terminateThread(): Promise<void> {
    const worker = this.#worker
    this.#resetThread()
    await worker?.terminate()
  }

  #resetThread(): void {
    this.#worker = undefined
    this.#isReady = false
    this.#memoryBytes = 0
    this.#cancelIdleStop()
  }
}

/** Most tasks are strings, which are copied. */
const NOTHING_TRANSFERRED: readonly Transferable[] = []

/** Returns the message for a rejected task: the limit and what to do. `tasks` is a plural noun. */
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

function cancelledFault(): Fault {
  return new Fault('cancelled', 'The caller closed the connection before its task was started')
}

function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/**
 * The worker's side of a ThreadQueue: runs tasks one after the other. Outcomes are copied, except
 * for the buffers that `transfer` returns, which are moved.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name their task
export function serveThread<Task, Outcome>(
  run: (task: Task) => Outcome,
  transfer: (outcome: Outcome) => readonly Transferable[] = () => [],
): void {
  const send = (message: ThreadMessage<Outcome>, moved: readonly Transferable[]): void => {
    parentPort?.postMessage(message, moved)
  }
  // The queue is the only sender, and sends nothing but tasks.
  parentPort?.on('message', (task: Task) => {
    const outcome = run(task)
    send({ kind: 'done', outcome, heldBytes: measureMemoryBytes() }, transfer(outcome))
  })
  send({ kind: 'ready' }, [])
}

/** Returns the size of this thread's heap and of the buffers outside it. */
function measureMemoryBytes(): number {
  const { total_heap_size, external_memory } = getHeapStatistics()
  return total_heap_size + external_memory
}

/** Returns the buffer of the bytes if it holds nothing else: only then it may be transferred. */
export function transferableBuffers(bytes: Uint8Array): readonly ArrayBuffer[] {
  const { buffer, byteLength } = bytes
  // Node carves small buffers from a shared pool.
  const isExclusive = buffer.byteLength === byteLength && byteLength > Buffer.poolSize
  return isExclusive && buffer instanceof ArrayBuffer ? [buffer] : []
}
