import { Worker } from 'node:worker_threads'
import type { Clock } from '../../kit/clock.ts'
import { Fault } from '../../kit/fault.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import type { JobFileOutcome, JobFileTask, ReaderMessage } from './job-file-task.ts'

/** A file that was handed in, until something has become of it. */
interface Reading {
  readonly task: JobFileTask
  readonly settle: (outcome: Result<JobFileOutcome, Refusal>) => void
  readonly fail: (thrown: Error) => void
}

export interface JobFileReaderOptions {
  readonly clock: Clock
  /** Memory of the thread, where it is not the usual limit. */
  readonly megabytesMax?: number
}

/**
 * Reads job files on a thread of its own (decision 0016): whatever a file costs, other requests are
 * answered meanwhile. One file at a time; the thread starts with the first one, keeps no process
 * alive while it has nothing to do, and is replaced when a file takes too long or too much memory.
 */
export class JobFileReader {
  readonly #clock: Clock
  readonly #megabytesMax: number
  readonly #waiting: Reading[] = []
  /** What the thread is reading now. */
  #current: Reading | undefined
  #worker: Worker | undefined
  #isReady = false
  #stopTimer: () => void = () => undefined

  constructor({ clock, megabytesMax }: JobFileReaderOptions) {
    this.#clock = clock
    this.#megabytesMax = megabytesMax ?? LIMITS.jobFileMegabytesMax
  }

  /** Refused when too many wait; else what became of the file, also when it costs too much. */
  read(task: JobFileTask): Promise<Result<JobFileOutcome, Refusal>> {
    if (this.#waiting.length >= LIMITS.jobFilesWaitingMax) return Promise.resolve(err(TOO_MANY))
    return new Promise((settle, fail) => {
      this.#waiting.push({ task, settle, fail })
      this.#next()
    })
  }

  /** Ends the thread; what is not read by then fails. A later file would start another one. */
  async stop(): Promise<void> {
    const stopped = new Fault('job-file-reader-stopped', 'The server is stopping')
    for (const reading of this.#waiting.splice(0)) reading.fail(stopped)
    this.#finish()?.fail(stopped)
    await this.#drop()
  }

  #next(): void {
    if (this.#current !== undefined || this.#waiting.length === 0) return
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    // The time to load the thread is not the file's.
    if (!this.#isReady) return
    this.#current = this.#waiting.shift()
    this.#stopTimer = this.#clock.after(LIMITS.jobFileMsMax, () => this.#giveUp())
    // A text is copied; there is nothing to hand over.
    worker.postMessage(this.#current?.task, [])
  }

  #start(): Worker {
    const worker = new Worker(new URL('./job-file-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.#megabytesMax },
    })
    // What an older thread still says is about a file that was given up.
    const isOurs = (): boolean => worker === this.#worker
    worker.on('message', (message: ReaderMessage) => {
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

  #hear(message: ReaderMessage): void {
    if (message.kind === 'ready') this.#isReady = true
    else this.#finish()?.settle(ok(message))
    this.#next()
  }

  /** The file that was being read, which is over in one way or another. */
  #finish(): Reading | undefined {
    const finished = this.#current
    this.#current = undefined
    this.#stopTimer()
    this.#worker?.unref()
    return finished
  }

  #giveUp(): void {
    const message = `Reading the file takes longer than ${LIMITS.jobFileMsMax} ms.`
    this.#finish()?.settle(ok({ kind: 'refused', message }))
    void this.#drop()
    this.#next()
  }

  /** The thread is gone: a file was too much for its memory, or we have a bug. */
  #lose(thrown: unknown): void {
    this.#worker = undefined
    this.#isReady = false
    const lost = this.#finish() ?? this.#waiting.shift()
    if (isOutOfMemory(thrown)) {
      const message = `Reading the file takes more than ${this.#megabytesMax} MB of memory.`
      lost?.settle(ok({ kind: 'refused', message }))
    } else lost?.fail(new Error('the thread that reads job files failed', { cause: thrown }))
    this.#next()
  }

  async #drop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#isReady = false
    await worker?.terminate()
  }
}

const TOO_MANY: Refusal = refusal('too-many-job-files', 'Too many job files are waiting to be read')

function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
