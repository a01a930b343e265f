import {
  type GuardedOperation,
  type Job,
  type JobPolicyOutcome,
  POLICY_VARIABLE_PREFIX,
} from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { decideEnforcement, type JobInput, type JsonObject } from '../../policy/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { ANONYMOUS_TOKEN, tokenFilterView } from '../acl/tokens.ts'
import type { WorkloadContext } from '../context.ts'
import {
  dryRunWarnings,
  missingOverrideComment,
  NO_VERDICT_CHANGES,
  policyDenial,
  type PolicyOverrideRequest,
  policyWarnings,
  publicOutcomes,
  verdictChanges,
  type VerdictChanges,
} from './verdicts.ts'
import type { PolicyInputOptions, PolicySetVerdict } from './evaluator.ts'
import type { EnforcedPolicySet } from './evaluator.ts'
import { openItems } from '../variables/variables.ts'

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
interface PolicySubmission {
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

interface EnforcedWrite<P extends PreparedWrite, T> {
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

/** A submitted job and the registered one. */
interface JobChange {
  /** Canonical form, as it would be stored. */
  readonly job: Job
  /** Undefined for a new job. */
  readonly existing: Job | undefined
}

/** Returns the input of policies for a submission. */
function buildPolicyInput(
  context: WorkloadContext,
  caller: Caller,
  { job, existing, readsVariables, mayReadNamespace }: JobChange & PolicyInputOptions,
): JobInput {
  return {
    kind: 'job',
    job: asPlainObject(job),
    existingJob: existing === undefined ? undefined : asPlainObject(existing),
    namespace: job.Namespace,
    token: tokenInput(context, caller),
    variables: readsVariables
      ? collectPolicyVariables(context, job.Namespace, mayReadNamespace)
      : new Map(),
  }
}

function asPlainObject(record: object): JsonObject {
  // A record of the API is plain JSON data.
  return record as JsonObject
}

function tokenInput(
  context: WorkloadContext,
  { accessorId, type }: Caller,
): JsonObject | undefined {
  if (type === 'disabled') return undefined
  const row = context.store.tables.acl_tokens.find(accessorId)
  return asPlainObject(row === undefined ? ANONYMOUS_TOKEN : tokenFilterView(context, row))
}

/**
 * Returns variables by `<namespace>@<path>`: those of the job's namespace first, then those of
 * namespaces that belong to no other organization than that of the policies.
 */
function collectPolicyVariables(
  context: WorkloadContext,
  jobNamespace: string,
  mayReadNamespace: PolicyInputOptions['mayReadNamespace'],
): ReadonlyMap<string, JsonObject> {
  const { namespaces, variables } = context.store.tables
  const found = new Map<string, JsonObject>()
  let chars = 0
  const others = [...namespaces.keys()].filter(
    (name) => name !== jobNamespace && mayReadNamespace(name),
  )
  for (const namespace of [jobNamespace, ...others.toSorted(compareText)]) {
    const prefix = namespacedKey(namespace, `${POLICY_VARIABLE_PREFIX}/`)
    for (const key of variables.keys(prefix)) {
      if (!key.startsWith(prefix)) break
      const row = variables.get(key)
      const items = openItems(context.sealer, row)
      chars += JSON.stringify(items).length
      // A variable beyond the limit is undefined to a policy, which then fails.
      if (found.size >= LIMITS.policyVariablesMax || chars > LIMITS.policyVariableCharsMax)
        return found
      found.set(`${namespace}@${row.Path}`, items)
    }
  }
  return found
}

/** Results of policies in a plan. */
export interface PolicyDryRun {
  /** Null if no policy applies. */
  readonly outcomes: readonly JobPolicyOutcome[] | null
  readonly warnings: readonly string[]
}

/** Evaluates the policies of a registration without recording anything. */
export async function dryRunPolicies(
  context: WorkloadContext,
  caller: Caller,
  { override, ...change }: JobChange & { readonly override: PolicyOverrideRequest },
): Promise<PolicyDryRun> {
  const sets = context.jobPolicies.policySetsFor(change.job.Namespace)
  if (sets.length === 0) return { outcomes: null, warnings: [] }
  const verdicts = await context.jobPolicies.evaluate(sets, (needs) =>
    buildPolicyInput(context, caller, { ...change, ...needs }),
  )
  const isOverriding = override.PolicyOverride === true
  const problem = missingOverrideComment(context.jobPolicies, verdicts, override)
  return {
    outcomes: publicOutcomes(verdicts, isOverriding).slice(0, LIMITS.plannedOutcomesMax),
    warnings: [
      ...(problem === undefined ? [] : [`would be refused: ${problem}`]),
      ...dryRunWarnings(decideEnforcement(verdicts, isOverriding)),
    ],
  }
}
