import type { JobFileAliases } from '../../compat/index.ts'
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

interface JobFileReaderOptions {
  readonly clock: Clock
  /** Memory limit of the thread; a default applies if not given. */
  readonly megabytesMax?: number
  /** Alternative names for blocks and attributes of job files; none unless given. */
  readonly aliases?: JobFileAliases
}

/** Reads job files on a separate thread, tenant by tenant (decision 0065). */
export class JobFileReader {
  readonly #queue: ThreadQueue<JobFileTask, JobFileOutcome>
  readonly #limits: ThreadLimits
  readonly #aliases: JobFileAliases | undefined

  constructor({ clock, megabytesMax = LIMITS.jobFileMegabytesMax, aliases }: JobFileReaderOptions) {
    this.#aliases = aliases
    this.#limits = {
      timeoutMs: LIMITS.jobFileTimeoutMs,
      megabytesMax,
      waitingMax: LIMITS.jobFilesWaitingMax,
      waitingPerTenantMax: LIMITS.jobFilesWaitingPerTenantMax,
      waitMsMax: LIMITS.jobFileWaitTimeoutMs,
    }
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./job-file-worker.ts', import.meta.url),
      description: 'reads job files',
      limits: this.#limits,
    })
  }

  /**
   * Parses a job file. Rejects if too many files are queued; a file that exceeds the limits is an
   * outcome.
   */
  async read(task: JobFileTask, origin: TaskOrigin): Promise<Result<JobFileOutcome, Refusal>> {
    const aliases = this.#aliases
    const taskWithAliases = aliases === undefined ? task : { ...task, aliases }
    const result = await this.#queue.run(() => taskWithAliases, origin)
    switch (result.kind) {
      case 'done':
        return ok(result.outcome)
      case 'overloaded':
        return err(
          refusal(
            'too-many-job-files',
            capitalize(overloadMessage(result.cause, 'job files', this.#limits)),
          ),
        )
      case 'too-slow':
        return rejectedFile(`Reading the file takes longer than ${LIMITS.jobFileTimeoutMs} ms.`)
      case 'too-large':
        return rejectedFile(
          `Reading the file takes more than ${this.#limits.megabytesMax} MB of memory.`,
        )
    }
  }

  /** Stops the thread; pending files fail. A later file starts a new thread. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function rejectedFile(message: string): Result<JobFileOutcome, Refusal> {
  return ok({ kind: 'refused', message })
}
