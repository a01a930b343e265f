import { createHash } from 'node:crypto'
import type {
  GuardedOperation,
  Job,
  JobPolicyFinding,
  JobPolicyOutcome,
  PolicyVerdict,
  v2,
} from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import {
  formatViolation,
  enforcementEffect,
  type PolicyViolation,
  type EnforcementDecision,
  decideEnforcement,
} from '../../policy/index.ts'
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
import type { JobPolicyEvaluator, PolicySetVerdict } from './evaluator.ts'

/** Rows and blobs of a recorded policy result. */
export interface VerdictChanges {
  readonly changes: (stamp: Stamp) => readonly Change[]
  readonly blobs: readonly BlobChange[]
}

export const NO_VERDICT_CHANGES: VerdictChanges = { changes: () => [], blobs: [] }

/** A policy result to be recorded. */
interface VerdictInput {
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

/** Maximum number of lines in a denial; one policy may have many findings. */
const DENIAL_LINES_MAX = 100

/** Returns the denial: each policy that denies the job, with its level, rule and position. */
export function policyDenial(jobId: string, { denials }: EnforcementDecision): Refusal {
  const isOverridable = denials.every(({ effect }) => effect === 'overridable')
  const count = denials.length === 1 ? 'a policy' : `${denials.length} policies`
  const lines = denials.flatMap(formatObjection)
  const omitted = lines.length - DENIAL_LINES_MAX
  const text = [
    `job ${JSON.stringify(jobId)} is denied by ${count}:`,
    ...lines.slice(0, DENIAL_LINES_MAX).map((line) => `\t* ${line}`),
    ...(omitted > 0 ? [`\t* and ${omitted} more`] : []),
    ...(isOverridable ? [OVERRIDE_HINT] : []),
  ].join('\n')
  return refusal(isOverridable ? 'policy-denied-overridable' : 'policy-denied', text)
}

const OVERRIDE_HINT =
  'PolicyOverride passes over what is listed; it needs the capability policy-override'

/** Returns `Warnings`: advisory failures and overridden policies. */
export function policyWarnings({ warnings, overridden }: EnforcementDecision): readonly string[] {
  const all = [
    ...warnings.flatMap(formatObjection),
    ...overridden.flatMap(formatObjection).map((line) => `${line} (allowed by PolicyOverride)`),
  ]
  return all.slice(0, DENIAL_LINES_MAX)
}

/** Returns the warnings of a plan, which include denials. */
export function dryRunWarnings(verdict: EnforcementDecision): readonly string[] {
  const denied = verdict.denials.flatMap(formatObjection).map((line) => `would be denied: ${line}`)
  return [...denied.slice(0, DENIAL_LINES_MAX), ...policyWarnings(verdict)]
}

function formatObjection(objection: PolicyViolation): readonly string[] {
  const findings = objection.outcome.findings.map((finding) => ({
    ...finding,
    message: truncateFinding(finding.message),
  }))
  return formatViolation({ ...objection, outcome: { ...objection.outcome, findings } })
}

/** Returns every outcome in the format of the API. */
export function publicOutcomes(
  verdicts: readonly PolicySetVerdict[],
  isOverriding: boolean,
): readonly JobPolicyOutcome[] {
  return verdicts.flatMap(({ set, outcomes }) =>
    outcomes.map((outcome, policyIndex): JobPolicyOutcome => {
      const weight = enforcementEffect(outcome.enforcement_level, set.overridable)
      return {
        PolicySet: set.name,
        PolicySetID: set.id,
        Policy: outcome.policy_name,
        PolicyID: set.policies[policyIndex]?.id ?? '',
        Level: outcome.enforcement_level,
        Status: outcome.status,
        Effect: policyEffect(outcome, weight, isOverriding),
        Overridable: weight === 'overridable',
        Description: outcome.description,
        ...(outcome.skipped === undefined ? {} : { Skipped: outcome.skipped }),
        Findings: outcome.findings.slice(0, LIMITS.verdictFindingsMax).map(publicFinding),
        FindingsOmitted: Math.max(0, outcome.findings.length - LIMITS.verdictFindingsMax),
      }
    }),
  )
}

function policyEffect(
  { status }: v2.PolicyOutcome,
  weight: PolicyViolation['effect'],
  isOverriding: boolean,
): JobPolicyOutcome['Effect'] {
  if (status === 'passed') return 'passes'
  if (weight === 'warning') return 'warns'
  return isOverriding && weight === 'overridable' ? 'overridden' : 'denies'
}

function publicFinding({ rule, file, line, column, message }: v2.PolicyFinding): JobPolicyFinding {
  return {
    Rule: rule,
    ...(file === undefined ? {} : { File: file }),
    Line: line,
    Column: column,
    Message: truncateFinding(message),
  }
}

function truncateFinding(text: string): string {
  const charsMax = LIMITS.findingCharsMax
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`
}

/** Policy override of a request, with its comment. */
export interface PolicyOverrideRequest {
  readonly PolicyOverride?: boolean | null | undefined
  readonly PolicyOverrideComment?: string | null | undefined
}

/**
 * Returns the problem if an organization requires a comment for overriding its policies and the
 * request has none. Applies to jobs as to runs.
 */
export function missingOverrideComment(
  evaluator: Pick<JobPolicyEvaluator, 'requiresComment'>,
  verdicts: readonly PolicySetVerdict[],
  { PolicyOverride, PolicyOverrideComment }: PolicyOverrideRequest,
): string | undefined {
  if (PolicyOverride !== true || (PolicyOverrideComment ?? '').trim() !== '') return undefined
  const setRequiringComment = verdicts.find(
    (one) =>
      decideEnforcement([one], true).overridden.length > 0 && evaluator.requiresComment(one.set),
  )
  if (setRequiringComment === undefined) return undefined
  const set = JSON.stringify(setRequiringComment.name)
  return `the override needs a comment (PolicyOverrideComment): the organization of policy set ${set} requires one`
}
