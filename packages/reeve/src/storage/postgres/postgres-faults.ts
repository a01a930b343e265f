import { setTimeout as wait } from 'node:timers/promises'
import { LOG_DIVERGED } from '../../cluster/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** Converts an error of the database or the network into a fault. `doing` completes "while …". */
export function toPostgresFault(thrown: unknown, databaseName: string, operation: string): Error {
  if (thrown instanceof Fault) return thrown
  const kind = faultKindOf(thrown)
  const { wrong: problem, next: remedy } = isUnresolvedHost(thrown)
    ? UNRESOLVED_HOST_TEXT
    : FAULT_TEXTS[kind]
  return new Fault(
    kind,
    `The database ${databaseName} ${problem} (while ${operation}: ${errorMessage(thrown)}). ${remedy}`,
    { cause: thrown },
  )
}

/** Fault: another server leads. `name` is the name of the database. */
export function fencedFault(databaseName: string): Fault {
  return new Fault('storage-fenced', `Another server has taken over the database ${databaseName}.`)
}

/** Kind of the fault after which the outcome of the last append is unknown. */
export const COMMIT_TIMEOUT_KIND = 'storage-unanswered'

/** Fault: a commit has reached its timeout. */
function commitTimeoutFault(databaseName: string, waitedMs: number): Fault {
  return new Fault(
    COMMIT_TIMEOUT_KIND,
    `The database ${databaseName} has not answered a commit for ${waitedMs / 1_000} s ` +
      '(server.commit_timeout). Writes that were under way may or may not have happened; new ones ' +
      'are refused until it answers. Look at its log, its locks and the way to it.',
  )
}

/** Fault: the log differs from the one read before. The server compares both when it restarts. */
export function divergedFault(databaseName: string, index: number): Fault {
  return new Fault(
    LOG_DIVERGED,
    `The database ${databaseName} does not hold log entry ${index} as this server has applied it: it has ` +
      'lost commits, or was restored to an earlier time',
  )
}

export function corruptFault(databaseName: string, what: string): Fault {
  return new Fault(
    'storage-corrupt',
    `The database ${databaseName} is damaged: ${what}. Nothing was removed. Restore it from a backup.`,
  )
}

/** True for transient errors. The statement may have run: only its response was lost. */
export function isTransient(thrown: unknown): boolean {
  if (thrown instanceof Fault || !(thrown instanceof Error)) return false
  const code = sqlStateOf(thrown)
  if (code === undefined) return !isProgrammingError(thrown)
  return TRANSIENT_SQLSTATES.has(code) || code.startsWith('08')
}

/**
 * True if the database is unreachable or accepts no sessions although its address is correct: it
 * restarts, fails over, or starts later than this server. An untrusted certificate does not count.
 */
export function isUnavailable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  if (sqlStateOf(thrown) !== undefined) return isTransient(thrown)
  return 'syscall' in thrown || CONNECTION_LOST_MESSAGE.test(thrown.message)
}

const CONNECTION_LOST_MESSAGE =
  /^(Connection terminated|timeout expired|timeout exceeded|no response)/

/** Errors without an SQLSTATE come from the network or the client; a TypeError is a bug. */
function isProgrammingError(thrown: Error): boolean {
  return thrown instanceof TypeError || thrown instanceof RangeError
}

const TRANSIENT_SQLSTATES: ReadonlySet<string> = new Set([
  '25006', // read-only: a standby that is about to become the primary
  '40001', // serialization failure
  '40P01', // deadlock
  '53300', // too many connections
  '55P03', // lock not available
  '57014', // statement time-out
  '57P01', // shutdown by the administrator, or pg_terminate_backend
  '57P02', // crash of another backend
  '57P03', // starting up or shutting down
  '57P05', // idle too long
])

type PostgresFaultKind = keyof typeof FAULT_TEXTS

const FAULT_TEXTS = {
  'storage-full': {
    wrong: 'has no space left',
    next:
      'Nothing that was acknowledged is lost. Free space there; nothing has to be restarted, ' +
      'writes are accepted as soon as there is space.',
  },
  'storage-unwritable': {
    wrong: 'does not let this server in',
    next: 'Look at the user and password of its address, and at the rights of that user.',
  },
  'storage-failed': {
    wrong: 'cannot be used',
    next: 'Nothing that was acknowledged is lost. Look at its log and at the way to it.',
  },
} as const

const UNRESOLVED_HOST_TEXT = {
  wrong: 'has a host name that cannot be resolved',
  next: 'Check the name in server.database (REEVE_DATABASE) and the DNS resolver of this machine.',
} as const

function isUnresolvedHost(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'getaddrinfo'
}

function faultKindOf(thrown: unknown): PostgresFaultKind {
  const code = sqlStateOf(thrown) ?? ''
  if (code === '53100' || code === '53200') return 'storage-full'
  if (code.startsWith('28') || code === '42501' || code === '3D000') return 'storage-unwritable'
  return 'storage-failed'
}

/** SQLSTATE of a server error; undefined for other errors. */
export function sqlStateOf(thrown: unknown): string | undefined {
  // System error codes may look alike (EPIPE), but come with the failed call.
  if (!(thrown instanceof Error) || 'syscall' in thrown || !('code' in thrown)) return undefined
  const { code } = thrown
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

const FIRST_RETRY_DELAY_MS = 20
const RETRY_DELAY_MS_MAX = 250

/** A restarting database is back within this time; otherwise an operator must act. */
const RETRY_TIMEOUT_MS = 60_000

/** How long a commit may wait for the database; default of `server.commit_timeout`. */
export const DEFAULT_COMMIT_TIMEOUT_MS = 15_000

/** Clock and timer; a simulation passes its own. */
interface RetryClock {
  nowMs(): number
  /** Resolves after the time or when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

const SYSTEM_TIMING: RetryClock = {
  nowMs: () => performance.now(),
  wait: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
}

/** Retries transient errors, so that a restart of the database does not end the server. */
export class Retry {
  readonly #name: string
  readonly #timeoutMs: number
  readonly #timing: RetryClock
  readonly #abort = new AbortController()

  constructor(options: {
    readonly name: string
    readonly giveUpMs?: number
    readonly timing?: RetryClock
  }) {
    this.#name = options.name
    this.#timeoutMs = options.giveUpMs ?? RETRY_TIMEOUT_MS
    this.#timing = options.timing ?? SYSTEM_TIMING
  }

  /** Stops all retries. */
  stop(): void {
    this.#abort.abort()
  }

  /**
   * `attempt` must be safe to repeat: its argument says whether an earlier run may have taken
   * effect. Rejects with a Fault.
   */
  async run<T>(operation: string, attempt: Attempt<T>): Promise<T> {
    const { signal } = this.#abort
    return await this.#attempt(attempt, { operation, timeoutMs: this.#timeoutMs, signal })
  }

  /**
   * Like `run`, with a timeout that also ends a hanging attempt: then it rejects with
   * `storage-unanswered`, and the outcome of that attempt is unknown.
   */
  async runWithin<T>(timeoutMs: number, operation: string, attempt: Attempt<T>): Promise<T> {
    const ended = new AbortController()
    const { signal } = ended
    // Do not retry after the timeout.
    const unlessEnded: Attempt<T> = async (isInDoubt) => {
      if (signal.aborted) throw commitTimeoutFault(this.#name, timeoutMs)
      return await attempt(isInDoubt)
    }
    const attempting = this.#attempt(unlessEnded, { operation, timeoutMs: Infinity, signal })
    // Late results are ignored.
    attempting.catch(() => undefined)
    const timeout = this.#timing.wait(timeoutMs, signal).then((): typeof TIMED_OUT => TIMED_OUT)
    try {
      const result = await Promise.race([attempting, timeout])
      if (result === TIMED_OUT) throw commitTimeoutFault(this.#name, timeoutMs)
      return result
    } finally {
      ended.abort()
    }
  }

  async #attempt<T>(
    attempt: Attempt<T>,
    { operation, timeoutMs, signal }: AttemptOptions,
  ): Promise<T> {
    const deadlineMs = this.#timing.nowMs() + timeoutMs
    let mayHaveRun = false
    for (let waitMs = FIRST_RETRY_DELAY_MS; ; waitMs = Math.min(waitMs * 2, RETRY_DELAY_MS_MAX)) {
      try {
        return await attempt(mayHaveRun)
      } catch (thrown) {
        const isEnded = signal.aborted || this.#abort.signal.aborted
        const isFinal = isEnded || this.#timing.nowMs() + waitMs > deadlineMs
        if (isFinal || !isTransient(thrown)) throw toPostgresFault(thrown, this.#name, operation)
        mayHaveRun = true
      }
      // Stopping ends the wait; the next attempt is the last.
      await this.#timing.wait(waitMs, signal)
    }
  }
}

type Attempt<T> = (isInDoubt: boolean) => Promise<T>

interface AttemptOptions {
  readonly operation: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

const TIMED_OUT = Symbol('late')
