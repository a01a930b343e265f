import type { JsonBytes } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalid, UNSEEN, type GovernanceRefusal, type JudgedSetRow } from '../../model/index.ts'
import type { PlainObject } from '../../policy/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { organizationPermissions } from '../permissions.ts'
import { appliedSet } from '../policy-sets/applying-sets.ts'
import { findPolicySet } from '../policy-sets/find-policy-set.ts'
import { findWorkspaceWith, type SeenWorkspace } from '../workspaces/find-workspace.ts'
import { findRun } from './find-run.ts'
import { freezeSets, frozenSet, type FrozenSet } from './frozen-sets.ts'
import { judgeSets } from './judge-sets.ts'
import { parseSmallObject, trialOf } from './try-policy.ts'
import { runSubject, workspaceSubject } from './run-subject.ts'
import { readStoredBytes } from './plan-blobs.ts'
import { inspectedPlan } from './upload-plan.ts'

export interface PlanQuestion {
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
  question: PlanQuestion,
): Promise<Result<readonly JudgedSetRow[], GovernanceRefusal>> {
  const seen = findWorkspaceWith(context, caller, {
    address: { workspaceId: question.workspaceId },
    right: 'queuePlan',
  })
  if (!seen.ok) return seen
  const origin = trialOf(seen.value.organization.id)
  const given = parseSmallObject(question.run, { pointer: '/data/attributes/run', name: 'Run' })
  if (!given.ok) return given
  const plan = await inspectedPlan(context, question.plan.json, origin)
  if (!plan.ok) return err(invalid('/data/attributes/plan', plan.error))
  const sets = chosenSets(context, seen.value, question.policySets)
  if (!sets.ok) return sets
  const run = askedRun(context, caller, { seen: seen.value, given: given.value })
  return ok(await judgeSets(context, sets.value, { plan: plan.value.bytes, run, origin }))
}

/** Sets that do not apply to the workspace require permission to read policies. */
function chosenSets(
  context: GovernanceContext,
  seen: SeenWorkspace,
  ids: readonly string[] | undefined,
): Result<readonly FrozenSet[], GovernanceRefusal> {
  const { organization, standing, workspace } = seen
  const applying = freezeSets(context, workspace.id)
  if (ids === undefined) return ok(applying)
  const readsAll = organizationPermissions(standing)['can-read-policies']
  const chosen: FrozenSet[] = []
  for (const [at, id] of [...new Set(ids)].entries()) {
    const known = applying.find((set) => set.id === id)
    const other = known === undefined && readsAll ? context.store.tables.policy_sets.find(id) : null
    const isOwn = other?.organizationId === organization.id
    if (known !== undefined) chosen.push(known)
    else if (other && isOwn) chosen.push(frozenSet(context, appliedSet(context, other)))
    else
      return err(invalid(`/data/attributes/policy-sets/${at}`, `Policy set ${id} does not exist`))
  }
  return ok(chosen)
}

/** Returns a hypothetical run, as if the caller created it now. */
function askedRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen, given }: { readonly seen: SeenWorkspace; readonly given: PlainObject },
): PlainObject {
  const assumed: PlainObject = {
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
  return { ...assumed, ...given, ...workspaceSubject(context, seen.workspace) }
}

/** Evaluates a set for the stored plan of a past run. */
export async function evaluatePolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  question: {
    readonly policySetId: string
    readonly runId: string
    readonly toolVersion: string | undefined
  },
): Promise<Result<readonly JudgedSetRow[], GovernanceRefusal>> {
  const { policySetId, runId, toolVersion } = question
  const set = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!set.ok) return set
  const seen = findRun(context, caller, { runId, right: 'read' })
  if (!seen.ok) return seen
  const { run, plan: stored } = seen.value
  // A run of another organization is reported as unknown.
  if (run.organizationId !== set.value.organization.id) return err(UNSEEN)
  const plan = await readStoredBytes(context, stored)
  if (plan === undefined) return err({ code: 'conflict', detail: 'The run has no plan yet' })
  const asked = frozenSet(context, appliedSet(context, set.value.set))
  const versioned = toolVersion === undefined ? asked : { ...asked, toolVersion }
  const origin = trialOf(run.organizationId)
  const judged = { plan, run: runSubject(context, run), origin }
  return ok(await judgeSets(context, [versioned], judged))
}
