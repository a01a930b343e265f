import { LOG_DIVERGED } from '../cluster/index.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { COMMIT_TIMEOUT_KIND } from '../storage/index.ts'

/** Faults after which the memory is at worst older than the log. */
export const STATE_KEEPING_FAULTS: ReadonlySet<string> = new Set([
  'storage-fenced',
  'storage-failed',
])

/** Faults of the database after which the leader goes on answering reads. */
export const SUSPENDING_FAULTS: ReadonlySet<string> = new Set(['storage-full', COMMIT_TIMEOUT_KIND])

export const ABANDONED_COMMIT_FAULT = new Fault(
  'storage-failed',
  'the database has carried out a commit that this server had given up',
)

/** Faults of a follower whose state is not a prefix of the log. */
export const DIVERGED_LOG_FAULTS: ReadonlySet<string> = new Set(['follower-behind', LOG_DIVERGED])

export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  return new Fault('storage-failed', errorMessage(thrown), { cause: thrown })
}

/** The Fault for callers whose commits were in progress. */
export function outcomeUnknown(fault: Fault): Fault {
  const message = `${fault.message}; try again. What was asked for may or may not have happened.`
  return new Fault('no-leader', message, { cause: fault })
}
