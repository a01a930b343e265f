import { Worker } from 'node:worker_threads'
import type { Clock } from '../kit/clock.ts'
import { Fault } from '../kit/fault.ts'

/** What a thread says: that it can take tasks, then one outcome for each. */
export type ThreadMessage<Outcome> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly outcome: Outcome }

/** What became of a task. */
export type ThreadResult<Outcome> =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** It took longer, or more memory, than it may; the thread was replaced. */
  | { readonly kind: 'too-slow' }
  | { readonly kind: 'too-large' }
  /** Too many wait already. */
  | { readonly kind: 'too-many' }

export interface ThreadLimits {
  /** Wall time of one task. */
  readonly msMax: number
  /** Memory of the thread. */
  readonly megabytesMax: number
  /** Tasks that wait for the thread. */
  readonly waitingMax: number
}

interface ThreadQueueOptions {
  readonly clock: Clock
  /** The program of the thread: says `ready`, then answers each task. */
  readonly file: URL
  /** What it does, for errors: `reads job files`. */
  readonly does: string
  readonly limits: ThreadLimits
  /** What the thread is told when it starts. */
  readonly data?: string
  /** A new thread knows nothing of what the last one was told. */
  readonly started?: () => void
}

interface Waiting<Task, Outcome> {
  /** Made when its turn comes: what the thread knows then decides what it must be told. */
  readonly task: () => Task
  readonly settle: (result: ThreadResult<Outcome>) => void
  readonly fail: (thrown: Error) => void
}

/**
 * Does work on a thread of its own (decision 0016): whatever a task costs, requests are answered
 * meanwhile. One task at a time; the thread starts with the first one, keeps no process alive while
 * it has nothing to do, and is replaced when a task takes too long or too much memory.
 */
export class ThreadQueue<Task, Outcome> {
  readonly #options: ThreadQueueOptions
  readonly #waiting: Waiting<Task, Outcome>[] = []
  /** What the thread is doing now. */
  #current: Waiting<Task, Outcome> | undefined
  #worker: Worker | undefined
  #isReady = false
  #stopTimer: () => void = () => undefined

  constructor(options: ThreadQueueOptions) {
    this.#options = options
  }

  /** How many tasks wait or are being done. */
  get size(): number {
    return this.#waiting.length + (this.#current === undefined ? 0 : 1)
  }

  run(task: () => Task): Promise<ThreadResult<Outcome>> {
    if (this.#waiting.length >= this.#options.limits.waitingMax)
      return Promise.resolve({ kind: 'too-many' })
    return new Promise((settle, fail) => {
      this.#waiting.push({ task, settle, fail })
      this.#next()
    })
  }

  /** Ends the thread; what is not done by then fails. A later task would start another one. */
  async stop(): Promise<void> {
    const stopped = new Fault('thread-stopped', 'The server is stopping')
    for (const waiting of this.#waiting.splice(0)) waiting.fail(stopped)
    this.#finish()?.fail(stopped)
    await this.#drop()
  }

  #next(): void {
    if (this.#current !== undefined || this.#waiting.length === 0) return
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    // The time to load the thread is not the task's.
    if (!this.#isReady) return
    this.#current = this.#waiting.shift()
    this.#stopTimer = this.#options.clock.after(this.#options.limits.msMax, () => this.#giveUp())
    // Texts are copied; there is nothing to hand over.
    worker.postMessage(this.#current?.task(), [])
  }

  #start(): Worker {
    const { file, limits, started, data } = this.#options
    const worker = new Worker(file, {
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: limits.megabytesMax },
    })
    started?.()
    // What an older thread still says is about a task that was given up.
    const isOurs = (): boolean => worker === this.#worker
    worker.on('message', (message: ThreadMessage<Outcome>) => {
      if (isOurs()) this.#hear(message)
    })
    worker.on('error', (thrown: unknown) => {
      if (isOurs()) this.#lose(thrown)
    })
    worker.on('exit', () => {
      if (isOurs()) this.#lose(undefined)
    })
    return worker
  }

  #hear(message: ThreadMessage<Outcome>): void {
    if (message.kind === 'ready') this.#isReady = true
    else this.#finish()?.settle(message)
    this.#next()
  }

  /** The task that was being done, which is over in one way or another. */
  #finish(): Waiting<Task, Outcome> | undefined {
    const finished = this.#current
    this.#current = undefined
    this.#stopTimer()
    this.#worker?.unref()
    return finished
  }

  #giveUp(): void {
    this.#finish()?.settle({ kind: 'too-slow' })
    void this.#drop()
    this.#next()
  }

  /** The thread is gone: a task was too much for its memory, or we have a bug. */
  #lose(thrown: unknown): void {
    this.#worker = undefined
    this.#isReady = false
    const lost = this.#finish() ?? this.#waiting.shift()
    if (isOutOfMemory(thrown)) lost?.settle({ kind: 'too-large' })
    else lost?.fail(new Error(`the thread that ${this.#options.does} failed`, { cause: thrown }))
    this.#next()
  }

  async #drop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#isReady = false
    await worker?.terminate()
  }
}

function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
