import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type RunPolicyRow,
  type PolicySetRow,
} from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { organizationPermissions } from '../permissions.ts'
import {
  findOrganization,
  findOrganizationById,
  type VisibleOrganization,
} from '../authorization.ts'

/** Permissions that apply to all policies and policy sets of an organization. */
export type PolicyRight = 'read' | 'update'

const PERMISSION_BY_RIGHT = {
  read: 'can-read-policies',
  update: 'can-update-policies',
} as const satisfies Record<PolicyRight, string>

/** Returns the organization if the caller has the permission on its policies. */
export function findPolicyOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, right }: { readonly organizationName: string; readonly right: PolicyRight },
): Result<VisibleOrganization, GovernanceRefusal> {
  return requireRight(findOrganization(context, caller, organizationName), right)
}

/** Like findPolicyOrganization, for the ID of an organization. */
function findPolicyOrganizationById(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationId, right }: { readonly organizationId: string; readonly right: PolicyRight },
): Result<VisibleOrganization, GovernanceRefusal> {
  return requireRight(findOrganizationById(context, caller, organizationId), right)
}

function requireRight(
  found: Result<VisibleOrganization, GovernanceRefusal>,
  right: PolicyRight,
): Result<VisibleOrganization, GovernanceRefusal> {
  if (!found.ok) return found
  return organizationPermissions(found.value.role)[PERMISSION_BY_RIGHT[right]]
    ? found
    : err(NOT_FOUND)
}

/** A policy visible to the caller. */
export interface VisiblePolicy extends VisibleOrganization {
  readonly policy: RunPolicyRow
}

/** Returns the policy if the caller has the permission on it. */
export function findPolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policyId, right }: { readonly policyId: string; readonly right: PolicyRight },
): Result<VisiblePolicy, GovernanceRefusal> {
  const policy = context.store.tables.run_policies.find(policyId)
  if (policy === undefined) return err(NOT_FOUND)
  const { organizationId } = policy
  const found = findPolicyOrganizationById(context, caller, { organizationId, right })
  return found.ok ? ok({ ...found.value, policy }) : found
}

/** A policy set visible to the caller. */
export interface VisiblePolicySet extends VisibleOrganization {
  readonly set: PolicySetRow
}

/** Returns the policy set if the caller has the permission on it. */
export function findPolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policySetId, right }: { readonly policySetId: string; readonly right: PolicyRight },
): Result<VisiblePolicySet, GovernanceRefusal> {
  const set = context.store.tables.policy_sets.find(policySetId)
  if (set === undefined) return err(NOT_FOUND)
  const { organizationId } = set
  const found = findPolicyOrganizationById(context, caller, { organizationId, right })
  return found.ok ? ok({ ...found.value, set }) : found
}
