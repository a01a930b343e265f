import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type PolicySetRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { policySeatIn, type PolicyRight } from '../policies/find-policy.ts'
import type { Seat } from '../standing.ts'

/** A policy set visible to the caller. */
export interface SeenPolicySet extends Seat {
  readonly set: PolicySetRow
}

/** Returns the policy set if the caller has the permission on it. */
export function findPolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policySetId, right }: { readonly policySetId: string; readonly right: PolicyRight },
): Result<SeenPolicySet, GovernanceRefusal> {
  const set = context.store.tables.policy_sets.find(policySetId)
  if (set === undefined) return err(UNSEEN)
  const { organizationId } = set
  const seat = policySeatIn(context, caller, { organizationId, right })
  return seat.ok ? ok({ ...seat.value, set }) : seat
}
