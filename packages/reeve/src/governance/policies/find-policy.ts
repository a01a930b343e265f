import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type RunPolicyRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { organizationPermissions } from '../permissions.ts'
import { findSeat, seatIn, type Seat } from '../standing.ts'

/** Permissions that apply to all policies and policy sets of an organization. */
export type PolicyRight = 'read' | 'update'

const PERMISSION_OF = {
  read: 'can-read-policies',
  update: 'can-update-policies',
} as const satisfies Record<PolicyRight, string>

/** Returns the organization if the caller has the permission on its policies. */
export function findPolicySeat(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, right }: { readonly organizationName: string; readonly right: PolicyRight },
): Result<Seat, GovernanceRefusal> {
  return withRight(findSeat(context, caller, organizationName), right)
}

/** Like findPolicySeat, for the ID of an organization. */
export function policySeatIn(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationId, right }: { readonly organizationId: string; readonly right: PolicyRight },
): Result<Seat, GovernanceRefusal> {
  return withRight(seatIn(context, caller, organizationId), right)
}

function withRight(
  seat: Result<Seat, GovernanceRefusal>,
  right: PolicyRight,
): Result<Seat, GovernanceRefusal> {
  if (!seat.ok) return seat
  return organizationPermissions(seat.value.standing)[PERMISSION_OF[right]] ? seat : err(UNSEEN)
}

/** A policy visible to the caller. */
export interface SeenPolicy extends Seat {
  readonly policy: RunPolicyRow
}

/** Returns the policy if the caller has the permission on it. */
export function findPolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policyId, right }: { readonly policyId: string; readonly right: PolicyRight },
): Result<SeenPolicy, GovernanceRefusal> {
  const policy = context.store.tables.run_policies.find(policyId)
  if (policy === undefined) return err(UNSEEN)
  const { organizationId } = policy
  const seat = policySeatIn(context, caller, { organizationId, right })
  return seat.ok ? ok({ ...seat.value, policy }) : seat
}
