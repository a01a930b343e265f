import { LOG_DIVERGED } from '../../cluster/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** What the server or the network said, as a fault. `doing` reads after "while". */
export function toPostgresFault(thrown: unknown, name: string, doing: string): Error {
  if (thrown instanceof Fault) return thrown
  const kind = kindOf(thrown)
  const { wrong, next } = isUnresolved(thrown) ? UNRESOLVED : sentences[kind]
  return new Fault(
    kind,
    `The database ${name} ${wrong} (while ${doing}: ${errorMessage(thrown)}). ${next}`,
    { cause: thrown },
  )
}

/** Another server leads. `name` is the database's. */
export function fencedFault(name: string): Fault {
  return new Fault('storage-fenced', `Another server has taken over the database ${name}.`)
}

/** The kind of a fault after which it is open whether the last append has happened. */
export const UNANSWERED = 'storage-unanswered'

/** A commit has waited as long as it may. */
export function unansweredFault(name: string, waitedMs: number): Fault {
  return new Fault(
    UNANSWERED,
    `The database ${name} has not answered a commit for ${waitedMs / 1_000} s ` +
      '(server.commit_timeout). Writes that were under way may or may not have happened; new ones ' +
      'are refused until it answers. Look at its log, its locks and the way to it.',
  )
}

/** The log is not the one that was read before. The server compares both when it begins anew. */
export function divergedFault(name: string, index: number): Fault {
  return new Fault(
    LOG_DIVERGED,
    `The database ${name} does not hold log entry ${index} as this server has applied it: it has ` +
      'lost commits, or was restored to an earlier time',
  )
}

export function corruptFault(name: string, what: string): Fault {
  return new Fault(
    'storage-corrupt',
    `The database ${name} is damaged: ${what}. Nothing was removed. Restore it from a backup.`,
  )
}

/**
 * Whether it may go well the next time. Then what was asked for may or may not have happened: the
 * answer is lost, not the question.
 */
export function isPassing(thrown: unknown): boolean {
  if (thrown instanceof Fault || !(thrown instanceof Error)) return false
  const code = sqlStateOf(thrown)
  if (code === undefined) return !isOurMistake(thrown)
  return PASSING_STATES.has(code) || code.startsWith('08')
}

/**
 * Whether the database cannot be reached or does not take sessions, and nothing is wrong with its
 * address: it restarts, fails over, or is started after us. A certificate that is not trusted does
 * not become so.
 */
export function isAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  if (sqlStateOf(thrown) !== undefined) return isPassing(thrown)
  return 'syscall' in thrown || CONNECTION_LOST.test(thrown.message)
}

const CONNECTION_LOST = /^(Connection terminated|timeout expired|timeout exceeded|no response)/

/** Without a code of the server it comes from the network or the client; a TypeError is ours. */
function isOurMistake(thrown: Error): boolean {
  return thrown instanceof TypeError || thrown instanceof RangeError
}

const PASSING_STATES: ReadonlySet<string> = new Set([
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

type PostgresFaultKind = keyof typeof sentences

const sentences = {
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

const UNRESOLVED = {
  wrong: 'has a host name that cannot be resolved',
  next: 'Check the name in server.database (REEVE_DATABASE) and the DNS resolver of this machine.',
} as const

function isUnresolved(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'getaddrinfo'
}

function kindOf(thrown: unknown): PostgresFaultKind {
  const code = sqlStateOf(thrown) ?? ''
  if (code === '53100' || code === '53200') return 'storage-full'
  if (code.startsWith('28') || code === '42501' || code === '3D000') return 'storage-unwritable'
  return 'storage-failed'
}

/** The five characters by which a server names an error; undefined when no server spoke. */
export function sqlStateOf(thrown: unknown): string | undefined {
  // The system's names may look alike (EPIPE), but come with the call that failed.
  if (!(thrown instanceof Error) || 'syscall' in thrown || !('code' in thrown)) return undefined
  const { code } = thrown
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}
