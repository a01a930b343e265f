import { createHash } from 'node:crypto'
import type { GuardedOperation, Job, PolicyVerdict } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS } from '../../model/index.ts'
import {
  judgedJobKey,
  put,
  remove,
  verdictGroup,
  type BlobChange,
  type Change,
  type Stamp,
  type Tables,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { OverrideWish } from './override-comment.ts'
import type { GuardVerdict } from './policy-guard.ts'
import { shownOutcomes } from './verdict-text.ts'

/** Rows and blobs of a recorded policy result. */
export interface VerdictWrite {
  readonly changes: (stamp: Stamp) => readonly Change[]
  readonly blobs: readonly BlobChange[]
}

export const NOTHING_WRITTEN: VerdictWrite = { changes: () => [], blobs: [] }

/** A policy result to be recorded. */
export interface RecordedVerdict {
  readonly result: PolicyVerdict['Result']
  readonly operation: GuardedOperation
  readonly caller: Caller
  readonly override: OverrideWish
  readonly jobId: string
  /** The job as policies saw it. */
  readonly job: Job
  readonly verdicts: readonly GuardVerdict[]
}

/**
 * Returns the record of a policy result: who, why, when and what. It replaces the oldest of the
 * namespace with the same outcome if there are too many.
 */
export function verdictWrite(
  { store, ids }: WorkloadContext,
  recorded: RecordedVerdict,
): VerdictWrite {
  const text = JSON.stringify(recorded.job)
  const bytes = new TextEncoder().encode(text)
  const hash = createHash('sha256').update(bytes).digest('hex')
  const isKept = bytes.length <= LIMITS.judgedJobBytesMax
  const key = judgedJobKey(hash)
  const isStored = store.tables.policy_verdicts.countIn('blob', key) > 0
  const id = ids.uuid()
  return {
    blobs: isKept && !isStored ? [{ key, bytes }] : [],
    changes: (stamp) => [
      put('policy_verdicts', verdictRow(recorded, { id, hash, isKept, stamp })),
      ...forgotten(store.tables, verdictGroup(recorded.job.Namespace, recorded.result)),
    ],
  }
}

interface RowOptions {
  readonly id: string
  readonly hash: string
  readonly isKept: boolean
  readonly stamp: Stamp
}

function verdictRow(recorded: RecordedVerdict, options: RowOptions): PolicyVerdict {
  const { caller, verdicts, result, override } = recorded
  const { index, timeMs } = options.stamp
  const outcomes = shownOutcomes(verdicts, override.PolicyOverride === true).filter(
    ({ Effect }) => Effect !== 'passes',
  )
  return {
    ID: options.id,
    Namespace: recorded.job.Namespace,
    JobID: recorded.jobId,
    Operation: recorded.operation,
    Result: result,
    AccessorID: caller.accessorId,
    TokenName: caller.name,
    Comment: (override.PolicyOverrideComment ?? '').slice(0, LIMITS.overrideCommentCharsMax),
    Time: nsFromMs(timeMs),
    SubjectHash: options.hash,
    HasSubject: options.isKept,
    Asked: verdicts.reduce((sum, { outcomes: all }) => sum + all.length, 0),
    Outcomes: outcomes.slice(0, LIMITS.verdictOutcomesMax),
    OutcomesOmitted: Math.max(0, outcomes.length - LIMITS.verdictOutcomesMax),
    // Part of the key, which orders records by time.
    CreateIndex: index,
    ModifyIndex: index,
  }
}

/**
 * Returns the oldest keys above the limit, counting the new one. Keys of one namespace are ordered
 * by time.
 */
function forgotten({ policy_verdicts: verdicts }: Tables, group: string): readonly Change[] {
  const extra = verdicts.countIn('result', group) - (LIMITS.verdictsMax - 1)
  if (extra <= 0) return []
  const keys = [...verdicts.keysIn('result', group)].toSorted(compareText)
  return keys.slice(0, extra).map((key) => remove('policy_verdicts', key))
}
