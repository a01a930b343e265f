import type { v2 } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { intersect } from '../intersect.ts'
import { findPolicySeat } from '../policies/find-policy.ts'
import type { SeenPolicySet } from './find-policy-set.ts'

export interface PolicySetSearch {
  readonly organizationName: string
  readonly part?: string | undefined
  readonly kind?: v2.PolicyKind | undefined
  readonly versioned?: boolean | undefined
  readonly skip: number
  readonly take: number
}

/** Oldest first. */
export function listPolicySets(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, part, kind, versioned, skip, take }: PolicySetSearch,
): Result<{ readonly sets: readonly SeenPolicySet[]; readonly total: number }, GovernanceRefusal> {
  const seat = findPolicySeat(context, caller, { organizationName, right: 'read' })
  if (!seat.ok) return seat
  const { policy_sets: sets } = context.store.tables
  const { id: scope } = seat.value.organization
  const group = (index: string, value: string): ReadonlySet<string> =>
    new Set(sets.keysIn(index, scopedKey(scope, value)))
  const found = context.lists.policySets.page({
    scope,
    order: 'oldest',
    search: part,
    within: intersect([
      kind === undefined ? undefined : group('kind', kind),
      versioned === undefined ? undefined : group('versioned', String(versioned)),
    ]),
    skip,
    take,
  })
  return ok({
    sets: found.keys.map((key) => ({ ...seat.value, set: sets.get(key) })),
    total: found.total,
  })
}
