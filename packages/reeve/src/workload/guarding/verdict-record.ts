import { createHash } from 'node:crypto'
import type { GuardedOperation, Job, PolicyVerdict } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS } from '../../model/index.ts'
import {
  policyInputBlobKey,
  put,
  remove,
  verdictIndexKey,
  type BlobChange,
  type Change,
  type Stamp,
  type Tables,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { PolicyOverrideRequest } from './override-comment.ts'
import type { PolicySetVerdict } from './policy-guard.ts'
import { publicOutcomes } from './verdict-text.ts'

/** Rows and blobs of a recorded policy result. */
export interface VerdictChanges {
  readonly changes: (stamp: Stamp) => readonly Change[]
  readonly blobs: readonly BlobChange[]
}

export const NO_VERDICT_CHANGES: VerdictChanges = { changes: () => [], blobs: [] }

/** A policy result to be recorded. */
export interface VerdictInput {
  readonly result: PolicyVerdict['Result']
  readonly operation: GuardedOperation
  readonly caller: Caller
  readonly override: PolicyOverrideRequest
  readonly jobId: string
  /** The job as evaluated by the policies. */
  readonly job: Job
  readonly verdicts: readonly PolicySetVerdict[]
}

/**
 * Returns the record of a policy result: who, why, when and what. It replaces the oldest of the
 * namespace with the same outcome if there are too many.
 */
export function verdictChanges(
  { store, ids }: WorkloadContext,
  input: VerdictInput,
): VerdictChanges {
  const text = JSON.stringify(input.job)
  const bytes = new TextEncoder().encode(text)
  const hash = createHash('sha256').update(bytes).digest('hex')
  const storesInput = bytes.length <= LIMITS.evaluatedJobBytesMax
  const key = policyInputBlobKey(hash)
  const isStored = store.tables.policy_verdicts.countByIndex('blob', key) > 0
  const id = ids.uuid()
  return {
    blobs: storesInput && !isStored ? [{ key, bytes }] : [],
    changes: (stamp) => [
      put('policy_verdicts', verdictRow(input, { id, hash, hasInput: storesInput, stamp })),
      ...expiredVerdicts(store.tables, verdictIndexKey(input.job.Namespace, input.result)),
    ],
  }
}

interface VerdictRowOptions {
  readonly id: string
  readonly hash: string
  readonly hasInput: boolean
  readonly stamp: Stamp
}

function verdictRow(input: VerdictInput, options: VerdictRowOptions): PolicyVerdict {
  const { caller, verdicts, result, override } = input
  const { index, timeMs } = options.stamp
  const outcomes = publicOutcomes(verdicts, override.PolicyOverride === true).filter(
    ({ Effect }) => Effect !== 'passes',
  )
  return {
    ID: options.id,
    Namespace: input.job.Namespace,
    JobID: input.jobId,
    Operation: input.operation,
    Result: result,
    AccessorID: caller.accessorId,
    TokenName: caller.name,
    Comment: (override.PolicyOverrideComment ?? '').slice(0, LIMITS.overrideCommentCharsMax),
    Time: nsFromMs(timeMs),
    SubjectHash: options.hash,
    HasSubject: options.hasInput,
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
function expiredVerdicts({ policy_verdicts: verdicts }: Tables, group: string): readonly Change[] {
  const surplus = verdicts.countByIndex('result', group) - (LIMITS.policyDecisionsMax - 1)
  if (surplus <= 0) return []
  const keys = [...verdicts.keysByIndex('result', group)].toSorted(compareText)
  return keys.slice(0, surplus).map((key) => remove('policy_verdicts', key))
}
