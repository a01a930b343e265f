import type { Clock } from '../../kit/clock.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import { ThreadQueue } from '../../threads/index.ts'
import type { JobFileOutcome, JobFileTask } from './job-file-task.ts'

export interface JobFileReaderOptions {
  readonly clock: Clock
  /** Memory of the thread, where it is not the usual limit. */
  readonly megabytesMax?: number
}

/** Reads job files on a thread of its own (decision 0016). */
export class JobFileReader {
  readonly #queue: ThreadQueue<JobFileTask, JobFileOutcome>
  readonly #megabytesMax: number

  constructor({ clock, megabytesMax = LIMITS.jobFileMegabytesMax }: JobFileReaderOptions) {
    this.#megabytesMax = megabytesMax
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./job-file-worker.ts', import.meta.url),
      does: 'reads job files',
      limits: { msMax: LIMITS.jobFileMsMax, megabytesMax, waitingMax: LIMITS.jobFilesWaitingMax },
    })
  }

  /** Refused when too many wait; else what became of the file, also when it costs too much. */
  async read(task: JobFileTask): Promise<Result<JobFileOutcome, Refusal>> {
    const result = await this.#queue.run(() => task)
    switch (result.kind) {
      case 'done':
        return ok(result.outcome)
      case 'too-many':
        return err(TOO_MANY)
      case 'too-slow':
        return refused(`Reading the file takes longer than ${LIMITS.jobFileMsMax} ms.`)
      case 'too-large':
        return refused(`Reading the file takes more than ${this.#megabytesMax} MB of memory.`)
    }
  }

  /** Ends the thread; what is not read by then fails. A later file would start another one. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }
}

const TOO_MANY: Refusal = refusal('too-many-job-files', 'Too many job files are waiting to be read')

function refused(message: string): Result<JobFileOutcome, Refusal> {
  return ok({ kind: 'refused', message })
}
