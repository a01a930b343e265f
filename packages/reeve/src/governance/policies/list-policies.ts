import type { v2 } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicySeat, type SeenPolicy } from './find-policy.ts'

export interface PolicySearch {
  readonly organizationName: string
  /** Part of the name. */
  readonly part?: string | undefined
  readonly kind?: v2.PolicyKind | undefined
  readonly sort: (typeof v2.POLICY_SORTS)[number]
  readonly skip: number
  readonly take: number
}

export interface PolicyPart {
  readonly policies: readonly SeenPolicy[]
  readonly total: number
}

export function listPolicies(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, part, kind, sort, skip, take }: PolicySearch,
): Result<PolicyPart, GovernanceRefusal> {
  const seat = findPolicySeat(context, caller, { organizationName, right: 'read' })
  if (!seat.ok) return seat
  const { run_policies: policies } = context.store.tables
  const { id: scope } = seat.value.organization
  const { lists } = context
  const isByTime = sort === 'updated-at' || sort === '-updated-at'
  const found = (isByTime ? lists.policiesByUpdate : lists.policies).page({
    scope,
    order: sort.startsWith('-') ? '-name' : 'name',
    search: part,
    within:
      kind === undefined ? undefined : new Set(policies.keysIn('kind', scopedKey(scope, kind))),
    skip,
    take,
  })
  return ok({
    policies: found.keys.map((key) => ({ ...seat.value, policy: policies.get(key) })),
    total: found.total,
  })
}
