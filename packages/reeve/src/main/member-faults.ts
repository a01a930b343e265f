import { LOG_DIVERGED } from '../cluster/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { UNANSWERED } from '../storage/index.ts'

/** Faults after which what is in memory is older than the log at most. */
export const KEEPS_STATE: ReadonlySet<string> = new Set(['storage-fenced', 'storage-failed'])

/** Faults of the database after which the leader goes on answering reads. */
export const SUSPENDING: ReadonlySet<string> = new Set(['storage-full', UNANSWERED])

export const GIVEN_UP = new Fault(
  'storage-failed',
  'the database has carried out a commit that this server had given up',
)

/** Faults of a follower whose state the log does not continue. */
export const OTHER_LOG: ReadonlySet<string> = new Set(['follower-behind', LOG_DIVERGED])

export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  return new Fault('storage-failed', errorMessage(thrown), { cause: thrown })
}

/** What callers are told whose commits were under way. */
export function inDoubt(fault: Fault): Fault {
  const message = `${fault.message}; try again. What was asked for may or may not have happened.`
  return new Fault('no-leader', message, { cause: fault })
}
