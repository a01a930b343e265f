import type { GuardedOperation } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { decideEnforcement } from '../../policy/index.ts'
import type { WorkloadContext } from '../context.ts'
import { buildPolicyInput, type JobChange } from './job-subject.ts'
import { missingOverrideComment, type PolicyOverrideRequest } from './override-comment.ts'
import type { PolicySetVerdict } from './policy-guard.ts'
import type { EnforcedPolicySet } from './policy-source.ts'
import { NO_VERDICT_CHANGES, verdictChanges, type VerdictChanges } from './verdict-record.ts'
import { policyDenial, policyWarnings } from './verdict-text.ts'

/** Checks the capability to override policies, which the flag requires in any case. */
export function checkOverridePermission(
  { grants }: Caller,
  namespace: string,
  { PolicyOverride }: PolicyOverrideRequest,
): Refusal | undefined {
  const isPermitted = PolicyOverride !== true || grants.allows(namespace, 'policy-override')
  return isPermitted ? undefined : PERMISSION_DENIED
}

/** A request to change a job. */
export interface PolicySubmission {
  readonly operation: GuardedOperation
  readonly caller: Caller
  readonly override: PolicyOverrideRequest
}

/** The prepared change, based on the current state. */
export interface PreparedWrite extends JobChange {
  /** Equal keys mean that policies would see the same job. */
  readonly key: string
  /** The job that the results are recorded for; for a dispatched child its parent. */
  readonly jobId: string
}

/** Outcome of policies that allow the change. */
export interface EnforcementResult {
  readonly warnings: readonly string[]
  /** Written in the same commit, so that an override always has its record. */
  readonly record: VerdictChanges
}

/** Outcome for changes that no policy applies to. */
export const NO_POLICIES_APPLIED: EnforcementResult = { warnings: [], record: NO_VERDICT_CHANGES }

export interface EnforcedWrite<P extends PreparedWrite, T> {
  /**
   * Checks the request against the state. Called again after the evaluation of policies, which
   * takes a while: an enforced index must hold at the moment of the write.
   */
  readonly prepare: () => Result<P, Refusal>
  /** Returns the response if the same request was executed before; else undefined. */
  readonly findPreviousResponse?: (prepared: P) => Promise<T> | undefined
  /** Must commit before it awaits anything. */
  readonly write: (prepared: P, allowed: EnforcementResult) => Promise<T>
}

/**
 * Writes if the policies of the namespace allow it. Policies run asynchronously: re-check that the
 * job and the policy sets are unchanged and commit in the same tick; otherwise evaluate again.
 * Without applicable policies nothing is awaited.
 */
export async function enforceAndWrite<P extends PreparedWrite, T>(
  context: WorkloadContext,
  submission: PolicySubmission,
  { prepare, findPreviousResponse, write }: EnforcedWrite<P, T>,
): Promise<Result<T, Refusal>> {
  let evaluated:
    | { readonly key: string; readonly verdicts: readonly PolicySetVerdict[] }
    | undefined
  for (let attempt = 0; attempt <= LIMITS.policyRoundsMax; attempt++) {
    const prepared = prepare()
    if (!prepared.ok) return prepared
    const previousResponse = findPreviousResponse?.(prepared.value)
    if (previousResponse !== undefined) return ok(await previousResponse)
    const sets = context.jobPolicies.policySetsFor(prepared.value.job.Namespace)
    if (sets.length === 0) return ok(await write(prepared.value, NO_POLICIES_APPLIED))
    const key = evaluationKey(prepared.value, sets)
    // Policies take up to a minute: a token that was revoked meanwhile must not complete its
    // request.
    if (evaluated !== undefined && !isTokenValid(context, submission.caller))
      return err(PERMISSION_DENIED)
    if (evaluated?.key === key)
      return await writeIfAllowed(context, submission, {
        prepared: prepared.value,
        verdicts: evaluated.verdicts,
        write,
      })
    const { job, existing } = prepared.value
    const verdicts = await context.jobPolicies.evaluate(sets, (needs) =>
      buildPolicyInput(context, submission.caller, { job, existing, ...needs }),
    )
    evaluated = { key, verdicts }
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
  const exists = store.tables.acl_tokens.find(accessorId) !== undefined
  return exists && (expiresMs ?? Infinity) > clock.nowMs()
}

/** Identifies the input of the policies, and the policies. */
function evaluationKey({ key }: PreparedWrite, sets: readonly EnforcedPolicySet[]): string {
  return JSON.stringify([key, sets])
}

interface EnforcementInput<P extends PreparedWrite, T> {
  readonly prepared: P
  readonly verdicts: readonly PolicySetVerdict[]
  readonly write: EnforcedWrite<P, T>['write']
}

/** Awaits nothing before the write. */
async function writeIfAllowed<P extends PreparedWrite, T>(
  context: WorkloadContext,
  { operation, caller, override }: PolicySubmission,
  { prepared, verdicts, write }: EnforcementInput<P, T>,
): Promise<Result<T, Refusal>> {
  const verdict = decideEnforcement(verdicts, override.PolicyOverride === true)
  const { job, jobId } = prepared
  const record = (result: 'denied' | 'overridden'): VerdictChanges =>
    verdictChanges(context, { result, operation, caller, override, jobId, job, verdicts })
  if (!verdict.isAllowed) {
    // Recorded by the system; the audit log records the rejected request itself.
    await context.store.commit({ by: 'system', cause: 'PolicyDenied', ...record('denied') }).durable
    return err(policyDenial(jobId, verdict))
  }
  const problem = missingOverrideComment(context.jobPolicies, verdicts, override)
  if (problem !== undefined) return err(refusal('override-comment-required', problem))
  return ok(
    await write(prepared, {
      warnings: policyWarnings(verdict),
      record: verdict.overridden.length === 0 ? NO_VERDICT_CHANGES : record('overridden'),
    }),
  )
}
