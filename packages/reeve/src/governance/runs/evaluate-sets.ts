import type { v2 } from '@reeve/contract'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import type { PolicySetResultRow, RunRow, WorkspaceRow } from '../../model/index.ts'
import {
  erroredResult,
  toPolicyOutcome,
  SecretCollector,
  withoutSecrets,
  type PolicyInvocation,
  type EngineInput,
  type EvaluationOrigin,
  type PolicyResult,
  type JsonObject,
} from '../../policy/index.ts'
import { usernameOf } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { readPolicyCode, type ApplicablePolicy } from '../policy-sets/applicable-sets.ts'
import { workspaceEffectiveTags } from '../tags/tags.ts'
import type { PolicySetSnapshot } from './policy-set-snapshots.ts'

/** Stored outputs of one policy. */
const OUTPUTS_MAX = 100
export const OUTPUT_CHARS_MAX = 64 * 1024
const MESSAGE_CHARS_MAX = 2_000

type EvaluationContext = Pick<GovernanceContext, 'store' | 'policyEngine'>

interface PlanEvaluationRequest {
  /** Validated JSON; it is parsed where policies are evaluated. */
  readonly plan: Uint8Array
  /** Attributes of the run for policies. */
  readonly run: JsonObject
  readonly origin: EvaluationOrigin
}

/** Evaluates every policy of every set for a plan. A policy in two sets is evaluated twice. */
export async function evaluatePolicySets(
  context: EvaluationContext,
  sets: readonly PolicySetSnapshot[],
  { plan, run, origin }: PlanEvaluationRequest,
): Promise<readonly PolicySetResultRow[]> {
  const results = new Map<ApplicablePolicy, PolicyResult>()
  for (const kind of ['opa', 'native'] as const) {
    const policies = sets.flatMap((set) => (set.kind === kind ? set.policies : []))
    if (policies.length === 0) continue
    const input: EngineInput = {
      kind: 'stored-plan',
      bytes: plan,
      run: kind === 'opa' ? withoutNullAddresses(run) : run,
    }
    const evaluated = await evaluatePolicies(context, policies, { input, origin })
    for (const [index, policy] of policies.entries())
      results.set(policy, evaluated[index] ?? NOT_EVALUATED)
  }
  // Secrets of the plan are masked where policies are evaluated.
  return sets.map((set) => toSetResult(set, results, secretTexts(set)))
}

/** Users who may read a run may lack access to the sensitive parameters of its sets. */
function secretTexts(set: PolicySetSnapshot): readonly string[] {
  const secrets = new SecretCollector()
  secrets.add(set.secrets)
  // Longest first, because one may contain another.
  return secrets.encodedValues().toSorted((a, b) => b.length - a.length)
}

/** Removes absent attributes, which are undefined for `opa`. */
function withoutNullAddresses(run: JsonObject): JsonObject {
  const unset = ['target_addrs', 'replace_addrs'].filter((name) => run[name] === null)
  return Object.fromEntries(Object.entries(run).filter(([name]) => !unset.includes(name)))
}

/** Returns one judgement per policy. A policy whose code is missing fails closed. */
async function evaluatePolicies(
  { store, policyEngine }: EvaluationContext,
  policies: readonly ApplicablePolicy[],
  { input, origin }: { readonly input: EngineInput; readonly origin: EvaluationOrigin },
): Promise<readonly PolicyResult[]> {
  const codes = new Map<string, string | undefined>()
  // A blob is readable once it is durable.
  await store.whenDurable()
  for (const { codeHash } of policies)
    if (!codes.has(codeHash)) codes.set(codeHash, await readPolicyCode(store, codeHash))
  const invocations: PolicyInvocation[] = []
  for (const { name, kind, query, codeHash, params } of policies) {
    const code = codes.get(codeHash)
    if (code !== undefined) invocations.push({ policy: { name, kind, query, code }, params })
  }
  const results = (await policyEngine.evaluate(input, invocations, origin)).values()
  return policies.map(({ codeHash }) =>
    codes.get(codeHash) === undefined ? CODE_MISSING : (results.next().value ?? NOT_EVALUATED),
  )
}

const CODE_MISSING = erroredResult('the code of the policy is not stored any more')
const NOT_EVALUATED = erroredResult('the policy was not asked')

function toSetResult(
  set: PolicySetSnapshot,
  results: ReadonlyMap<ApplicablePolicy, PolicyResult>,
  secrets: readonly string[],
): PolicySetResultRow {
  const { id, name, description, overridable, toolVersion } = set
  const warnings: string[] = []
  const outcomes = set.policies.map((policy) => {
    const { result, warning } = truncateResult(results.get(policy) ?? NOT_EVALUATED, secrets)
    if (warning !== '') warnings.push(`${policy.name}: ${warning}`)
    return toPolicyOutcome(policy, result, overridable)
  })
  return { id, name, description, overridable, toolVersion, error: '', warnings, outcomes }
}

/** Limits the size of a judgement, and adds notes about omitted and unusual parts. */
export function truncateResult(
  result: PolicyResult,
  secrets: readonly string[] = [],
): {
  readonly result: PolicyResult
  readonly warning: string
} {
  const output: unknown[] = []
  let chars = 0
  for (const item of result.output.slice(0, OUTPUTS_MAX)) {
    const remainingChars = OUTPUT_CHARS_MAX - chars
    // Printed output is one text, which is truncated.
    const truncatedItem = isPrintOutput(item)
      ? { print: truncateText(item.print, remainingChars) }
      : item
    chars += isPrintOutput(item)
      ? Math.min(item.print.length, remainingChars)
      : (JSON.stringify(item)?.length ?? 0)
    if (chars > OUTPUT_CHARS_MAX) break
    output.push(truncatedItem)
  }
  const redacted = withoutSecrets({ ...result, output }, secrets)
  // Truncated after redaction, because a truncated secret would not be recognised.
  const findings = redacted.findings.map(truncateFinding)
  const omittedOutputs = result.output.length - output.length
  const notes = [
    ...(result.warning === undefined ? [] : [result.warning]),
    ...(omittedOutputs > 0 ? [`${omittedOutputs} more outputs are not kept`] : []),
  ]
  return { result: { ...redacted, findings }, warning: notes.join('; ') }
}

/** Distinguishes printed output from a policy result with a member of the same name. */
function isPrintOutput(item: unknown): item is { readonly print: string } {
  if (typeof item !== 'object' || item === null || !('print' in item)) return false
  return typeof item.print === 'string' && Object.keys(item).length === 1
}

function truncateFinding({ value, ...finding }: v2.PolicyFinding): v2.PolicyFinding {
  const message = finding.message.slice(0, MESSAGE_CHARS_MAX)
  const isSmall = value !== undefined && JSON.stringify(value).length <= MESSAGE_CHARS_MAX
  return { ...finding, message, ...(isSmall ? { value } : {}) }
}

/** Returns the attributes of a run for policies. */
export function runInput(context: Pick<GovernanceContext, 'store'>, run: RunRow): JsonObject {
  return {
    id: run.id,
    created_at: new Date(run.createdMs).toISOString(),
    created_by: usernameOf(context, { userId: run.createdById, fallbackName: run.createdByName }),
    message: run.message ?? '',
    commit_sha: run.commitSha ?? '',
    is_destroy: run.isDestroy,
    refresh: run.refresh,
    refresh_only: run.refreshOnly,
    speculative: run.planOnly,
    target_addrs: run.targetAddresses.length === 0 ? null : run.targetAddresses,
    replace_addrs: run.replaceAddresses.length === 0 ? null : run.replaceAddresses,
    variables: Object.fromEntries(
      // Variables of a run are treated as sensitive.
      run.variableNames.map((name) => [name, { category: 'run', sensitive: true }]),
    ),
    ...workspaceInput(context, context.store.tables.workspaces.get(run.workspaceId)),
  }
}

/** Returns the project, organization and workspace of a run. */
export function workspaceInput(
  { store }: Pick<GovernanceContext, 'store'>,
  workspace: WorkspaceRow,
): JsonObject {
  const { tables } = store
  const project = tables.projects.get(workspace.projectId)
  const organization = tables.organizations.get(workspace.organizationId)
  const tags = workspaceEffectiveTags(tables, workspace)
  return {
    project: { id: project.id, name: project.name },
    organization: { name: organization.name },
    workspace: {
      id: workspace.id,
      name: workspace.name,
      created_at: new Date(workspace.createdMs).toISOString(),
      description: workspace.description,
      execution_mode: workspace.overwritesExecutionMode
        ? workspace.executionMode
        : organization.defaultExecutionMode,
      auto_apply: workspace.autoApply,
      tags: tags.map(({ binding }) => binding.key),
      tag_bindings: tags.map(({ binding, inheritedFrom }) => ({
        key: binding.key,
        value: binding.value === '' ? null : binding.value,
        inherited: inheritedFrom !== undefined,
      })),
      working_directory: workspace.workingDirectory,
      vcs_repo: null,
    },
  }
}
