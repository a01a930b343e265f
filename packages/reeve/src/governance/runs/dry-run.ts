import type { v2 } from '@reeve/contract'
import type { JsonBytes } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  NOT_FOUND,
  type GovernanceRefusal,
  type PolicySetResultRow,
  LIMITS,
  type RunPolicyRow,
} from '../../model/index.ts'
import {
  type EngineInput,
  type EvaluationOrigin,
  type InputProblem,
  type JsonObject,
  organizationTenant,
  type PolicyDefinition,
  toPolicyInput,
} from '../../policy/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { organizationPermissions } from '../permissions.ts'
import { readPolicyCode, toApplicableSet } from '../policy-sets/applicable-sets.ts'
import { findPolicy, findPolicySet } from '../policies/find-policy.ts'
import { diagnosePolicy } from '../policies/policy-code.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'
import { findRun } from './find-run.ts'
import { snapshotPolicySets, toSnapshot, type PolicySetSnapshot } from './policy-set-snapshots.ts'
import { evaluatePolicySets, runInput, truncateResult, workspaceInput } from './evaluate-sets.ts'
import { inspectPlanBytes, readPlanBytes } from './plans.ts'

interface DryRunRequest {
  readonly workspaceId: string
  readonly plan: JsonBytes
  /** Run attributes for policies; absent ones are taken from the workspace. */
  readonly run: JsonBytes | undefined
  /** All sets that apply to the workspace if undefined. */
  readonly policySets: readonly string[] | undefined
}

/** Evaluates policies for a workspace without storing anything. */
export async function evaluateWorkspacePolicies(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: DryRunRequest,
): Promise<Result<readonly PolicySetResultRow[], GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, {
    address: { workspaceId: request.workspaceId },
    right: 'queuePlan',
  })
  if (!found.ok) return found
  const origin = previewOrigin(found.value.organization.id)
  const requested = parseSmallObject(request.run, { pointer: '/data/attributes/run', name: 'Run' })
  if (!requested.ok) return requested
  const plan = await inspectPlanBytes(context, request.plan.json, origin)
  if (!plan.ok) return err(invalidAttribute('/data/attributes/plan', plan.error))
  const sets = selectPolicySets(context, found.value, request.policySets)
  if (!sets.ok) return sets
  const run = hypotheticalRunInput(context, caller, {
    visible: found.value,
    requested: requested.value,
  })
  return ok(await evaluatePolicySets(context, sets.value, { plan: plan.value.bytes, run, origin }))
}

/** Sets that do not apply to the workspace require permission to read policies. */
function selectPolicySets(
  context: GovernanceContext,
  visible: VisibleWorkspace,
  ids: readonly string[] | undefined,
): Result<readonly PolicySetSnapshot[], GovernanceRefusal> {
  const { organization, role, workspace } = visible
  const applicable = snapshotPolicySets(context, workspace.id)
  if (ids === undefined) return ok(applicable)
  const readsAll = organizationPermissions(role)['can-read-policies']
  const selected: PolicySetSnapshot[] = []
  for (const [index, id] of [...new Set(ids)].entries()) {
    const applicableSet = applicable.find((set) => set.id === id)
    const other =
      applicableSet === undefined && readsAll ? context.store.tables.policy_sets.find(id) : null
    const isSameOrganization = other?.organizationId === organization.id
    if (applicableSet !== undefined) selected.push(applicableSet)
    else if (other && isSameOrganization)
      selected.push(toSnapshot(context, toApplicableSet(context, other)))
    else
      return err(
        invalidAttribute(
          `/data/attributes/policy-sets/${index}`,
          `Policy set ${id} does not exist`,
        ),
      )
  }
  return ok(selected)
}

/** Returns a hypothetical run, as if the caller created it now. */
function hypotheticalRunInput(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible, requested }: { readonly visible: VisibleWorkspace; readonly requested: JsonObject },
): JsonObject {
  const defaults: JsonObject = {
    id: '',
    created_at: new Date(context.clock.nowMs()).toISOString(),
    created_by: callerName(context, caller),
    message: '',
    commit_sha: '',
    is_destroy: false,
    refresh: true,
    refresh_only: false,
    speculative: true,
    target_addrs: null,
    replace_addrs: null,
    variables: {},
  }
  return { ...defaults, ...requested, ...workspaceInput(context, visible.workspace) }
}

/** Evaluates a set for the stored plan of a past run. */
export async function evaluatePolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly policySetId: string
    readonly runId: string
    readonly toolVersion: string | undefined
  },
): Promise<Result<readonly PolicySetResultRow[], GovernanceRefusal>> {
  const { policySetId, runId, toolVersion } = request
  const set = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!set.ok) return set
  const found = findRun(context, caller, { runId, right: 'read' })
  if (!found.ok) return found
  const { run, plan: stored } = found.value
  // A run of another organization is reported as unknown.
  if (run.organizationId !== set.value.organization.id) return err(NOT_FOUND)
  const plan = await readPlanBytes(context, stored)
  if (plan === undefined) return err({ code: 'conflict', detail: 'The run has no plan yet' })
  const snapshot = toSnapshot(context, toApplicableSet(context, set.value.set))
  const pinnedSet = toolVersion === undefined ? snapshot : { ...snapshot, toolVersion }
  const origin = previewOrigin(run.organizationId)
  const evaluation = { plan, run: runInput(context, run), origin }
  return ok(await evaluatePolicySets(context, [pinnedSet], evaluation))
}

/** Members that may differ from the stored policy. */
export interface PolicyDraft {
  readonly code?: string | undefined
  readonly query?: string | null | undefined
  readonly params?: JsonBytes | undefined
}

interface PolicyTrialRequest extends PolicyDraft {
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
function parseSmallObject(
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
