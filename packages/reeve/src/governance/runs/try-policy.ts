import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'
import { invalid, type GovernanceRefusal, type RunPolicyRow } from '../../model/index.ts'
import {
  isObject,
  newPlanOf,
  organizationTenant,
  type AskingOrigin,
  type PlainObject,
  type PolicyText,
  type Subject,
} from '../../policy/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { diagnosePolicy } from '../policies/diagnose-policy.ts'
import { findPolicy } from '../policies/find-policy.ts'
import { readPolicyCode } from '../policy-sets/applying-sets.ts'
import { bounded } from './judge-sets.ts'

/** What may differ from the policy as it is stored. */
export interface TriedChange {
  readonly code?: string | undefined
  readonly query?: string | null | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

export interface PolicyTrial extends TriedChange {
  readonly policyId: string
  readonly input: Readonly<Record<string, unknown>>
}

/** Asks a policy, or other code in its place, about any input. Nothing is stored. */
export async function tryPolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  trial: PolicyTrial,
): Promise<Result<v2.PolicyTrial['attributes'], GovernanceRefusal>> {
  const seen = findPolicy(context, caller, { policyId: trial.policyId, right: 'update' })
  if (!seen.ok) return seen
  const subject = subjectOf(trial.input)
  if (!subject.ok) return subject
  const policy = await triedText(context, seen.value.policy, trial)
  if (!policy.ok) return policy
  const asked = { policy: policy.value, params: plain(trial.params ?? {}) }
  const origin = trialOf(seen.value.organization.id)
  const diagnostics = await diagnosePolicy(context, policy.value, origin)
  const [said] = await context.policyAsker.ask(subject.value, [asked], origin)
  if (said === undefined) return err({ code: 'unprocessable', detail: 'The policy was not asked' })
  const { judgement, warning } = bounded(said)
  const { status, output, findings, skipped } = judgement
  return ok({
    status,
    output,
    findings,
    diagnostics,
    warnings: warning === '' ? [] : [warning],
    ...(skipped === undefined ? {} : { skipped }),
  })
}

/** Trials of an organization wait for each other, and for no other organization's. */
export function trialOf(organizationId: string): AskingOrigin {
  return { tenant: organizationTenant(organizationId), purpose: 'trial' }
}

/** The policy as it is to be tried. */
export async function triedText(
  { store }: GovernanceContext,
  { name, kind, query, code }: RunPolicyRow,
  changed: TriedChange,
): Promise<Result<PolicyText, GovernanceRefusal>> {
  const asked = changed.query === undefined ? query : changed.query
  if (changed.code !== undefined) return ok({ name, kind, query: asked, code: changed.code })
  if (code === null)
    return err(invalid('/data/attributes/code', "Code can't be blank: the policy has none"))
  await store.settled()
  const text = await readPolicyCode(store, code.sha256)
  // Somebody has replaced it in this moment.
  if (text === undefined) return err({ code: 'conflict', detail: 'The code of the policy changes' })
  return ok({ name, kind, query: asked, code: text })
}

/** What a policy is asked about, by the members that its input has. */
function subjectOf(input: PolicyTrial['input']): Result<Subject, GovernanceRefusal> {
  const { job, plan, run, namespace } = input
  if (plan !== undefined) {
    const document = newPlanOf(plan)
    if (!document.ok) return err(invalid('/data/attributes/input/plan', document.error))
    return ok({ kind: 'plan', plan: document.value, run: plain(isObject(run) ? run : {}) })
  }
  if (!isObject(job))
    return err(invalid('/data/attributes/input', 'Input must have a plan or a job'))
  const existing = input['existing_job']
  const { token } = input
  return ok({
    kind: 'job',
    job: plain(job),
    existingJob: isObject(existing) ? plain(existing) : undefined,
    namespace: typeof namespace === 'string' ? namespace : namespaceOf(job),
    token: isObject(token) ? plain(token) : undefined,
    variables: new Map(),
  })
}

function namespaceOf(job: Readonly<Record<string, unknown>>): string {
  return typeof job['Namespace'] === 'string' ? job['Namespace'] : 'default'
}

export function plain(data: Readonly<Record<string, unknown>>): PlainObject {
  // It was read from JSON, which holds nothing but plain data.
  return data as PlainObject
}
