import type { v2 } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicyOrganization, type VisiblePolicy } from './find-policy.ts'

export interface PolicySearch {
  readonly organizationName: string
  /** Substring of the name. */
  readonly nameContains?: string | undefined
  readonly kind?: v2.PolicyKind | undefined
  readonly sort: (typeof v2.POLICY_SORTS)[number]
  readonly offset: number
  readonly limit: number
}

export interface PolicyPage {
  readonly policies: readonly VisiblePolicy[]
  readonly total: number
}

export function listPolicies(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, nameContains, kind, sort, offset, limit }: PolicySearch,
): Result<PolicyPage, GovernanceRefusal> {
  const lookup = findPolicyOrganization(context, caller, { organizationName, right: 'read' })
  if (!lookup.ok) return lookup
  const { run_policies: policies } = context.store.tables
  const { id: scope } = lookup.value.organization
  const { lists } = context
  const sortsByUpdate = sort === 'updated-at' || sort === '-updated-at'
  const page = (sortsByUpdate ? lists.policiesByUpdate : lists.policies).page({
    scope,
    order: sort.startsWith('-') ? '-name' : 'name',
    search: nameContains,
    restrictTo:
      kind === undefined
        ? undefined
        : new Set(policies.keysByIndex('kind', scopedKey(scope, kind))),
    skip: offset,
    take: limit,
  })
  return ok({
    policies: page.keys.map((key) => ({ ...lookup.value, policy: policies.get(key) })),
    total: page.total,
  })
}
