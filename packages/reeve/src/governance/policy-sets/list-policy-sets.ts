import type { v2 } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { intersect } from '../intersect.ts'
import { findPolicyOrganization } from '../policies/find-policy.ts'
import type { VisiblePolicySet } from './find-policy-set.ts'

export interface PolicySetSearch {
  readonly organizationName: string
  readonly nameContains?: string | undefined
  readonly kind?: v2.PolicyKind | undefined
  readonly versioned?: boolean | undefined
  readonly offset: number
  readonly limit: number
}

/** Lists the policy sets of an organization, oldest first. */
export function listPolicySets(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, nameContains, kind, versioned, offset, limit }: PolicySetSearch,
): Result<
  { readonly sets: readonly VisiblePolicySet[]; readonly total: number },
  GovernanceRefusal
> {
  const lookup = findPolicyOrganization(context, caller, { organizationName, right: 'read' })
  if (!lookup.ok) return lookup
  const { policy_sets: sets } = context.store.tables
  const { id: scope } = lookup.value.organization
  const group = (index: string, value: string): ReadonlySet<string> =>
    new Set(sets.keysByIndex(index, scopedKey(scope, value)))
  const page = context.lists.policySets.page({
    scope,
    order: 'oldest',
    search: nameContains,
    restrictTo: intersect([
      kind === undefined ? undefined : group('kind', kind),
      versioned === undefined ? undefined : group('versioned', String(versioned)),
    ]),
    skip: offset,
    take: limit,
  })
  return ok({
    sets: page.keys.map((key) => ({ ...lookup.value, set: sets.get(key) })),
    total: page.total,
  })
}
