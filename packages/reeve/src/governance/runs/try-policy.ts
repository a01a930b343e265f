import type { v2 } from '@reeve/contract'
import type { JsonBytes } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalid, LIMITS, type GovernanceRefusal, type RunPolicyRow } from '../../model/index.ts'
import {
  organizationTenant,
  subjectOfInput,
  type AskedSubject,
  type AskingOrigin,
  type InputProblem,
  type PlainObject,
  type PolicyText,
} from '../../policy/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { diagnosePolicy } from '../policies/diagnose-policy.ts'
import { findPolicy } from '../policies/find-policy.ts'
import { readPolicyCode } from '../policy-sets/applying-sets.ts'
import { bounded } from './judge-sets.ts'

/** Members that may differ from the stored policy. */
export interface TriedChange {
  readonly code?: string | undefined
  readonly query?: string | null | undefined
  readonly params?: JsonBytes | undefined
}

export interface PolicyTrial extends TriedChange {
  readonly policyId: string
  readonly input: JsonBytes
}

/** Evaluates a policy, optionally with other code, for any input. Nothing is stored. */
export async function tryPolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  trial: PolicyTrial,
): Promise<Result<v2.PolicyTrial['attributes'], GovernanceRefusal>> {
  const seen = findPolicy(context, caller, { policyId: trial.policyId, right: 'update' })
  if (!seen.ok) return seen
  const origin = trialOf(seen.value.organization.id)
  const subject = await subjectOf(context, trial.input, origin)
  if (!subject.ok) return subject
  const params = triedParams(trial)
  if (!params.ok) return params
  const policy = await triedText(context, seen.value.policy, trial)
  if (!policy.ok) return policy
  const asked = { policy: policy.value, params: params.value }
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

/** Previews of an organization are queued separately from those of others. */
export function trialOf(organizationId: string): AskingOrigin {
  return { tenant: organizationTenant(organizationId), purpose: 'trial' }
}

export function triedParams({ params }: TriedChange): Result<PlainObject, GovernanceRefusal> {
  return parseSmallObject(params, { pointer: '/data/attributes/params', name: 'Params' })
}

/** Returns the policy with the changes to try. */
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
  // The code was replaced concurrently.
  if (text === undefined) return err({ code: 'conflict', detail: 'The code of the policy changes' })
  return ok({ name, kind, query: asked, code: text })
}

/** A larger input is parsed where policies are evaluated. */
async function subjectOf(
  { policyAsker }: Pick<GovernanceContext, 'policyAsker'>,
  { json }: JsonBytes,
  origin: AskingOrigin,
): Promise<Result<AskedSubject, GovernanceRefusal>> {
  const isLarge = json.length > LIMITS.inlineBodyBytesMax
  if (!isLarge || policyAsker.inspectInput === undefined) {
    const subject = subjectOfInput(parse(json))
    return subject.ok ? subject : err(inputRefusal(subject.error))
  }
  const inspected = await policyAsker.inspectInput(json, origin)
  return inspected.ok ? ok({ kind: 'input', json }) : err(inputRefusal(inspected.error))
}

function inputRefusal({ member, message }: InputProblem): GovernanceRefusal {
  return invalid(`/data/attributes/input${member === '' ? '' : `/${member}`}`, message)
}

/** Parses an object of a preview on the event loop, so its size is limited. */
export function parseSmallObject(
  given: JsonBytes | undefined,
  { pointer, name }: { readonly pointer: string; readonly name: string },
): Result<PlainObject, GovernanceRefusal> {
  if (given === undefined) return ok({})
  const bytesMax = LIMITS.inlineBodyBytesMax
  if (given.json.length > bytesMax)
    return err(invalid(pointer, `${name} is larger than ${bytesMax} bytes as JSON`))
  // JSON values are plain data.
  return ok((parse(given.json) ?? {}) as PlainObject)
}

function parse(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString())
}

export function plain(data: Readonly<Record<string, unknown>>): PlainObject {
  // Parsed from JSON, so it is plain data.
  return data as PlainObject
}
