import type { v2 } from '@reeve/contract'
import type { JsonBytes } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  LIMITS,
  type GovernanceRefusal,
  type RunPolicyRow,
} from '../../model/index.ts'
import {
  organizationTenant,
  toPolicyInput,
  type EngineInput,
  type EvaluationOrigin,
  type InputProblem,
  type JsonObject,
  type PolicyDefinition,
} from '../../policy/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { diagnosePolicy } from '../policies/diagnose-policy.ts'
import { findPolicy } from '../policies/find-policy.ts'
import { readPolicyCode } from '../policy-sets/applying-sets.ts'
import { truncateResult } from './judge-sets.ts'

/** Members that may differ from the stored policy. */
export interface PolicyDraft {
  readonly code?: string | undefined
  readonly query?: string | null | undefined
  readonly params?: JsonBytes | undefined
}

export interface PolicyTrialRequest extends PolicyDraft {
  readonly policyId: string
  readonly input: JsonBytes
}

/** Evaluates a policy, optionally with other code, for any input. Nothing is stored. */
export async function tryPolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: PolicyTrialRequest,
): Promise<Result<v2.PolicyTrial['attributes'], GovernanceRefusal>> {
  const found = findPolicy(context, caller, { policyId: request.policyId, right: 'update' })
  if (!found.ok) return found
  const origin = previewOrigin(found.value.organization.id)
  const input = await loadInput(context, request.input, origin)
  if (!input.ok) return input
  const params = resolveParams(request)
  if (!params.ok) return params
  const policy = await resolveDraft(context, found.value.policy, request)
  if (!policy.ok) return policy
  const invocation = { policy: policy.value, params: params.value }
  const diagnostics = await diagnosePolicy(context, policy.value, origin)
  const [result] = await context.policyEngine.evaluate(input.value, [invocation], origin)
  if (result === undefined)
    return err({ code: 'unprocessable', detail: 'The policy was not asked' })
  const { result: truncated, warning } = truncateResult(result)
  const { status, output, findings, skipped } = truncated
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
export function previewOrigin(organizationId: string): EvaluationOrigin {
  return { tenant: organizationTenant(organizationId), purpose: 'trial' }
}

export function resolveParams({ params }: PolicyDraft): Result<JsonObject, GovernanceRefusal> {
  return parseSmallObject(params, { pointer: '/data/attributes/params', name: 'Params' })
}

/** Returns the policy with the changes to try. */
export async function resolveDraft(
  { store }: GovernanceContext,
  { name, kind, query, code }: RunPolicyRow,
  draft: PolicyDraft,
): Promise<Result<PolicyDefinition, GovernanceRefusal>> {
  const effectiveQuery = draft.query === undefined ? query : draft.query
  if (draft.code !== undefined) return ok({ name, kind, query: effectiveQuery, code: draft.code })
  if (code === null)
    return err(
      invalidAttribute('/data/attributes/code', "Code can't be blank: the policy has none"),
    )
  await store.whenDurable()
  const text = await readPolicyCode(store, code.sha256)
  // The code was replaced concurrently.
  if (text === undefined) return err({ code: 'conflict', detail: 'The code of the policy changes' })
  return ok({ name, kind, query: effectiveQuery, code: text })
}

/** A larger input is parsed where policies are evaluated. */
async function loadInput(
  { policyEngine }: Pick<GovernanceContext, 'policyEngine'>,
  { json }: JsonBytes,
  origin: EvaluationOrigin,
): Promise<Result<EngineInput, GovernanceRefusal>> {
  const isLarge = json.length > LIMITS.inlineBodyBytesMax
  if (!isLarge || policyEngine.inspectInput === undefined) {
    const parsed = toPolicyInput(parseJson(json))
    return parsed.ok ? parsed : err(inputRefusal(parsed.error))
  }
  const inspected = await policyEngine.inspectInput(json, origin)
  return inspected.ok ? ok({ kind: 'input', json }) : err(inputRefusal(inspected.error))
}

function inputRefusal({ member, message }: InputProblem): GovernanceRefusal {
  return invalidAttribute(`/data/attributes/input${member === '' ? '' : `/${member}`}`, message)
}

/** Parses an object of a preview on the event loop, so its size is limited. */
export function parseSmallObject(
  source: JsonBytes | undefined,
  { pointer, name }: { readonly pointer: string; readonly name: string },
): Result<JsonObject, GovernanceRefusal> {
  if (source === undefined) return ok({})
  const bytesMax = LIMITS.inlineBodyBytesMax
  if (source.json.length > bytesMax)
    return err(invalidAttribute(pointer, `${name} is larger than ${bytesMax} bytes as JSON`))
  // JSON values are plain data.
  return ok((parseJson(source.json) ?? {}) as JsonObject)
}

function parseJson(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString())
}

export function asJsonObject(data: Readonly<Record<string, unknown>>): JsonObject {
  // Parsed from JSON, so it is plain data.
  return data as JsonObject
}
