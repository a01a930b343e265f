import type { GuardedOperation } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { verdictOf } from '../../policy/index.ts'
import type { WorkloadContext } from '../context.ts'
import { jobSubject, type JudgedJob } from './job-subject.ts'
import { commentProblem, type OverrideWish } from './override-comment.ts'
import type { GuardVerdict } from './policy-guard.ts'
import type { GuardingSet } from './policy-source.ts'
import { NOTHING_WRITTEN, verdictWrite, type VerdictWrite } from './verdict-record.ts'
import { denial, policyWarnings } from './verdict-text.ts'

/** Checks the capability to override policies, which the flag requires in any case. */
export function checkOverride(
  { grants }: Caller,
  namespace: string,
  { PolicyOverride }: OverrideWish,
): Refusal | undefined {
  const mayPass = PolicyOverride !== true || grants.allows(namespace, 'policy-override')
  return mayPass ? undefined : PERMISSION_DENIED
}

/** A request to change a job. */
export interface Submission {
  readonly operation: GuardedOperation
  readonly caller: Caller
  readonly override: OverrideWish
}

/** The prepared change, based on the current state. */
export interface Prepared extends JudgedJob {
  /** Equal keys mean that policies would see the same job. */
  readonly key: string
  /** The job that the results are recorded for; for a dispatched child its parent. */
  readonly jobId: string
}

/** Outcome of policies that allow the change. */
export interface Allowed {
  readonly warnings: readonly string[]
  /** Written in the same commit, so that an override always has its record. */
  readonly record: VerdictWrite
}

/** Outcome for changes that no policy applies to. */
export const UNGUARDED: Allowed = { warnings: [], record: NOTHING_WRITTEN }

export interface GuardedSteps<P extends Prepared, T> {
  /**
   * Checks the request against the state. Called again after the evaluation of policies, which
   * takes a while: an enforced index must hold at the moment of the write.
   */
  readonly prepare: () => Result<P, Refusal>
  /** Returns the response if the same request was executed before; else undefined. */
  readonly answered?: (prepared: P) => Promise<T> | undefined
  /** Must commit before it awaits anything. */
  readonly write: (prepared: P, allowed: Allowed) => Promise<T>
}

/**
 * Writes if the policies of the namespace allow it. Policies run asynchronously: re-check that the
 * job and the policy sets are unchanged and commit in the same tick; otherwise evaluate again.
 * Without applicable policies nothing is awaited.
 */
export async function submitGuarded<P extends Prepared, T>(
  context: WorkloadContext,
  submission: Submission,
  { prepare, answered, write }: GuardedSteps<P, T>,
): Promise<Result<T, Refusal>> {
  let asked: { readonly key: string; readonly verdicts: readonly GuardVerdict[] } | undefined
  for (let round = 0; round <= LIMITS.policyRoundsMax; round++) {
    const prepared = prepare()
    if (!prepared.ok) return prepared
    const before = answered?.(prepared.value)
    if (before !== undefined) return ok(await before)
    const sets = context.guard.setsFor(prepared.value.job.Namespace)
    if (sets.length === 0) return ok(await write(prepared.value, UNGUARDED))
    const key = questionKey(prepared.value, sets)
    // Policies take up to a minute: a token that was revoked meanwhile must not complete its
    // request.
    if (asked !== undefined && !isTokenValid(context, submission.caller))
      return err(PERMISSION_DENIED)
    if (asked?.key === key)
      return await conclude(context, submission, {
        prepared: prepared.value,
        verdicts: asked.verdicts,
        write,
      })
    const { job, existing } = prepared.value
    const verdicts = await context.guard.judge(sets, (needs) =>
      jobSubject(context, submission.caller, { job, existing, ...needs }),
    )
    asked = { key, verdicts }
  }
  return err(
    refusal('index-conflict', 'the job or its policies change while policies are asked; try again'),
  )
}

function isTokenValid(
  { store, clock }: WorkloadContext,
  { type, accessorId, expiresMs }: Caller,
): boolean {
  if (type === 'anonymous' || type === 'disabled') return true
  const isThere = store.tables.acl_tokens.find(accessorId) !== undefined
  return isThere && (expiresMs ?? Infinity) > clock.nowMs()
}

/** Identifies the input of the policies, and the policies. */
function questionKey({ key }: Prepared, sets: readonly GuardingSet[]): string {
  return JSON.stringify([key, sets])
}

interface Conclusion<P extends Prepared, T> {
  readonly prepared: P
  readonly verdicts: readonly GuardVerdict[]
  readonly write: GuardedSteps<P, T>['write']
}

/** Awaits nothing before the write. */
async function conclude<P extends Prepared, T>(
  context: WorkloadContext,
  { operation, caller, override }: Submission,
  { prepared, verdicts, write }: Conclusion<P, T>,
): Promise<Result<T, Refusal>> {
  const verdict = verdictOf(verdicts, override.PolicyOverride === true)
  const { job, jobId } = prepared
  const record = (result: 'denied' | 'overridden'): VerdictWrite =>
    verdictWrite(context, { result, operation, caller, override, jobId, job, verdicts })
  if (!verdict.isAllowed) {
    // Recorded by the system; the audit log records the rejected request itself.
    await context.store.commit({ by: 'system', cause: 'PolicyDenied', ...record('denied') }).durable
    return err(denial(jobId, verdict))
  }
  const problem = commentProblem(context.guard, verdicts, override)
  if (problem !== undefined) return err(refusal('override-comment-required', problem))
  return ok(
    await write(prepared, {
      warnings: policyWarnings(verdict),
      record: verdict.overridden.length === 0 ? NOTHING_WRITTEN : record('overridden'),
    }),
  )
}
