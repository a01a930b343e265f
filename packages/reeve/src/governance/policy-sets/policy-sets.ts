import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isEqual, type GovernanceRefusal, type PolicySetRow } from '../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findPolicySeat } from '../policies/find-policy.ts'
import { mayGiveNamespaces } from '../projects/project-namespaces.ts'
import { findPolicySet, type SeenPolicySet } from './find-policy-set.ts'
import { withAttributes } from './set-attributes.ts'
import {
  addMembers,
  ATTACHMENTS,
  memberProblems,
  removeMembers,
  replaceMembers,
  SET_RELATIONS,
  setMembers,
  type NamedMembers,
} from './set-members.ts'
import { mixedProblems } from './tag-selectors.ts'

type SetRelationships = NonNullable<v2.PolicySetUpdateRequest['data']['relationships']>

/** Creates a set with its policies and attachments, atomically. */
export async function createPolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.PolicySetCreateRequest['data']
  },
): Promise<Result<SeenPolicySet, GovernanceRefusal>> {
  const { organizationName, data } = request
  const seat = findPolicySeat(context, caller, { organizationName, right: 'update' })
  if (!seat.ok) return seat
  const { organization } = seat.value
  const { attributes, relationships = {} } = data
  const empty = emptySet(context, organization.id, attributes)
  const { tables } = context.store
  const set = withAttributes(tables, empty, attributes)
  const named = namedMembers(relationships)
  const naming = { tables, givesNamespaces: mayGiveNamespaces(context, caller) }
  const problems = [
    ...(set.ok ? [] : set.error),
    ...named.flatMap((one) => memberProblems(naming, set.ok ? set.value : empty, one)),
  ]
  if (problems.length > 0 || !set.ok) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    action: 'PolicySetCreated',
    caller,
    organizationId: organization.id,
    subjects: [empty.id],
    changes: [
      put('policy_sets', set.value),
      ...named.flatMap((one) => addMembers(tables, set.value, one)),
    ],
  })
  return ok({ ...seat.value, set: set.value })
}

/** Returns a set with default attributes. */
function emptySet(
  { ids, clock }: GovernanceContext,
  organizationId: string,
  { name, kind = 'native' }: v2.PolicySetCreateRequest['data']['attributes'],
): PolicySetRow {
  const nowMs = clock.nowMs()
  return {
    id: newId(ids, 'policy-sets'),
    organizationId,
    name,
    description: null,
    global: false,
    kind,
    overridable: null,
    agentEnabled: false,
    policyToolVersion: null,
    policiesPath: null,
    policyUpdatePatterns: [],
    tagSelectors: [],
    scopingType: 'explicit',
    currentVersionId: null,
    newestVersionId: null,
    createdMs: nowMs,
    updatedMs: nowMs,
  }
}

function namedMembers(relationships: SetRelationships): readonly NamedMembers[] {
  return SET_RELATIONS.flatMap((relation) => {
    const given = relationships[relation]
    const pointer = `/data/relationships/${relation}/data`
    return given === undefined ? [] : [{ relation, pointer, ids: given.data.map(({ id }) => id) }]
  })
}

/** Updates a set. Each relationship in the request is replaced as a whole. */
export async function updatePolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly policySetId: string; readonly data: v2.PolicySetUpdateRequest['data'] },
): Promise<Result<SeenPolicySet, GovernanceRefusal>> {
  const { policySetId, data } = request
  const seen = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!seen.ok) return seen
  const { set: before, organization } = seen.value
  const { tables } = context.store
  const set = withAttributes(tables, before, data.attributes ?? {})
  const named = namedMembers(data.relationships ?? {})
  const pointer = '/data/attributes/tag-selectors'
  const replaced = new Set(named.map(({ relation }) => relation))
  const naming = { tables, givesNamespaces: mayGiveNamespaces(context, caller) }
  const problems = [
    ...(set.ok ? mixedProblems(tables, set.value, { pointer, replaced }) : set.error),
    ...named.flatMap((one) => memberProblems(naming, set.ok ? set.value : before, one)),
  ]
  if (problems.length > 0 || !set.ok) return err({ code: 'invalid', problems })
  const members = named.flatMap((one) => replaceMembers(tables, set.value, one))
  const dropped = set.value.global && !before.global ? droppedMembers(tables, before, named) : []
  const changes = [...members, ...dropped]
  if (changes.length === 0 && isEqual(before, set.value)) return seen
  const after = { ...set.value, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    action: 'PolicySetUpdated',
    caller,
    organizationId: organization.id,
    subjects: [policySetId],
    changes: [put('policy_sets', after), ...changes],
  })
  return ok({ ...seen.value, set: after })
}

/** Setting `global` removes the attachments, except those that the request has already replaced. */
function droppedMembers(
  tables: Tables,
  set: PolicySetRow,
  named: readonly NamedMembers[],
): readonly Change[] {
  const replaced = new Set(named.map(({ relation }) => relation))
  return ATTACHMENTS.filter((relation) => !replaced.has(relation)).flatMap((relation) =>
    removeMembers(tables, set, { relation, ids: setMembers(tables, set.id, relation) }),
  )
}

/** Adds members to one relationship of a set, or removes them, atomically. */
export async function changeSetMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: Pick<NamedMembers, 'relation' | 'ids'> & {
    readonly policySetId: string
    readonly isRemoval: boolean
  },
): Promise<Result<void, GovernanceRefusal>> {
  const { policySetId, relation, ids, isRemoval } = request
  const seen = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!seen.ok) return seen
  const { set, organization } = seen.value
  const { tables } = context.store
  const named = { relation, ids, pointer: '/data' }
  const naming = { tables, givesNamespaces: mayGiveNamespaces(context, caller) }
  const problems = isRemoval ? [] : memberProblems(naming, set, named)
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const changes = (isRemoval ? removeMembers : addMembers)(tables, set, { relation, ids })
  const touched = put('policy_sets', { ...set, updatedMs: context.clock.nowMs() })
  await commitWrite(context, {
    action: 'PolicySetMembersChanged',
    caller,
    organizationId: organization.id,
    subjects: [policySetId],
    changes: changes.length === 0 ? [] : [touched, ...changes],
  })
  return ok(undefined)
}

/** Deletes a set; its policies remain. */
export async function deletePolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  policySetId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!seen.ok) return seen
  const { tables } = context.store
  const keys = (table: 'policy_set_members' | 'policy_set_parameters' | 'policy_set_versions') =>
    [...tables[table].keysIn('set', policySetId)].map((key) => remove(table, key))
  const codes = [...tables.policy_set_versions.keysIn('set', policySetId)].flatMap((id) =>
    [...tables.policy_codes.keysIn('owner', id)].map((key) => remove('policy_codes', key)),
  )
  await commitWrite(context, {
    action: 'PolicySetDeleted',
    caller,
    organizationId: seen.value.organization.id,
    subjects: [policySetId],
    changes: [
      ...keys('policy_set_members'),
      ...keys('policy_set_parameters'),
      ...codes,
      ...keys('policy_set_versions'),
      remove('policy_sets', policySetId),
    ],
  })
  return ok(undefined)
}
