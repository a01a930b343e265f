import type { JsonBytes } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  NOT_FOUND,
  type GovernanceRefusal,
  type PolicySetResultRow,
} from '../../model/index.ts'
import type { JsonObject } from '../../policy/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { organizationPermissions } from '../permissions.ts'
import { toApplicableSet } from '../policy-sets/applying-sets.ts'
import { findPolicySet } from '../policy-sets/find-policy-set.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'
import { findRun } from './find-run.ts'
import { snapshotPolicySets, toSnapshot, type PolicySetSnapshot } from './frozen-sets.ts'
import { evaluatePolicySets } from './judge-sets.ts'
import { parseSmallObject, previewOrigin } from './try-policy.ts'
import { runInput, workspaceInput } from './run-subject.ts'
import { readPlanBytes } from './plan-blobs.ts'
import { inspectPlanBytes } from './upload-plan.ts'

export interface DryRunRequest {
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
