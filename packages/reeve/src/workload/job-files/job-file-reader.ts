import type { Clock } from '@reeve/kit/clock.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import {
  overloadMessage,
  ThreadQueue,
  type TaskOrigin,
  type ThreadLimits,
} from '../../threads/index.ts'
import type { JobFileOutcome, JobFileTask } from './job-file-task.ts'

export interface JobFileReaderOptions {
  readonly clock: Clock
  /** Memory of the thread, where it is not the usual limit. */
  readonly megabytesMax?: number
}

/** Reads job files on a separate thread, tenant by tenant (decision 0065). */
export class JobFileReader {
  readonly #queue: ThreadQueue<JobFileTask, JobFileOutcome>
  readonly #limits: ThreadLimits

  constructor({ clock, megabytesMax = LIMITS.jobFileMegabytesMax }: JobFileReaderOptions) {
    this.#limits = {
      msMax: LIMITS.jobFileMsMax,
      megabytesMax,
      waitingMax: LIMITS.jobFilesWaitingMax,
      waitingPerTenantMax: LIMITS.jobFilesWaitingPerTenantMax,
      waitMsMax: LIMITS.jobFileWaitMsMax,
    }
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./job-file-worker.ts', import.meta.url),
      does: 'reads job files',
      limits: this.#limits,
    })
  }

  /** Rejected when too many files wait; else the outcome, also for a file that costs too much. */
  async read(task: JobFileTask, origin: TaskOrigin): Promise<Result<JobFileOutcome, Refusal>> {
    const result = await this.#queue.run(() => task, origin)
    switch (result.kind) {
      case 'done':
        return ok(result.outcome)
      case 'overloaded':
        return err(
          refusal(
            'too-many-job-files',
            capitalized(overloadMessage(result.cause, 'job files', this.#limits)),
          ),
        )
      case 'too-slow':
        return refused(`Reading the file takes longer than ${LIMITS.jobFileMsMax} ms.`)
      case 'too-large':
        return refused(
          `Reading the file takes more than ${this.#limits.megabytesMax} MB of memory.`,
        )
    }
  }

  /** Ends the thread; files that are not read by then fail. A later file starts another one. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function refused(message: string): Result<JobFileOutcome, Refusal> {
  return ok({ kind: 'refused', message })
}
