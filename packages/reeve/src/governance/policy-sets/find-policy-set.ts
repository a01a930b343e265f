import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal, type PolicySetRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicyOrganizationById, type PolicyRight } from '../policies/find-policy.ts'
import type { VisibleOrganization } from '../standing.ts'

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
