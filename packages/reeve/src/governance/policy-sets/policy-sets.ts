import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isEqual, type GovernanceRefusal, type PolicySetRow } from '../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findPolicyOrganization } from '../policies/find-policy.ts'
import { mayAssignNamespaces } from '../projects/project-namespaces.ts'
import { findPolicySet, type VisiblePolicySet } from './find-policy-set.ts'
import { withAttributes } from './set-attributes.ts'
import {
  addMembers,
  ATTACHMENTS,
  memberProblems,
  removeMembers,
  replaceMembers,
  SET_RELATIONS,
  listMemberIds,
  type MemberRefs,
} from './set-members.ts'
import { scopingConflicts } from './tag-selectors.ts'

type SetRelationships = NonNullable<v2.PolicySetUpdateRequest['data']['relationships']>

/** Creates a set with its policies and attachments, atomically. */
export async function createPolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.PolicySetCreateRequest['data']
  },
): Promise<Result<VisiblePolicySet, GovernanceRefusal>> {
  const { organizationName, data } = request
  const found = findPolicyOrganization(context, caller, { organizationName, right: 'update' })
  if (!found.ok) return found
  const { organization } = found.value
  const { attributes, relationships = {} } = data
  const blank = newPolicySet(context, organization.id, attributes)
  const { tables } = context.store
  const set = withAttributes(tables, blank, attributes)
  const memberRefs = toMemberRefs(relationships)
  const validation = { tables, mayAssignNamespaces: mayAssignNamespaces(context, caller) }
  const problems = [
    ...(set.ok ? [] : set.error),
    ...memberRefs.flatMap((one) => memberProblems(validation, set.ok ? set.value : blank, one)),
  ]
  if (problems.length > 0 || !set.ok) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    action: 'PolicySetCreated',
    caller,
    organizationId: organization.id,
    affectedIds: [blank.id],
    changes: [
      put('policy_sets', set.value),
      ...memberRefs.flatMap((one) => addMembers(tables, set.value, one)),
    ],
  })
  return ok({ ...found.value, set: set.value })
}

/** Returns a set with default attributes. */
function newPolicySet(
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

function toMemberRefs(relationships: SetRelationships): readonly MemberRefs[] {
  return SET_RELATIONS.flatMap((relation) => {
    const requested = relationships[relation]
    const pointer = `/data/relationships/${relation}/data`
    return requested === undefined
      ? []
      : [{ relation, pointer, ids: requested.data.map(({ id }) => id) }]
  })
}

/** Updates a set. Each relationship in the request is replaced as a whole. */
export async function updatePolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly policySetId: string; readonly data: v2.PolicySetUpdateRequest['data'] },
): Promise<Result<VisiblePolicySet, GovernanceRefusal>> {
  const { policySetId, data } = request
  const found = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!found.ok) return found
  const { set: before, organization } = found.value
  const { tables } = context.store
  const set = withAttributes(tables, before, data.attributes ?? {})
  const memberRefs = toMemberRefs(data.relationships ?? {})
  const pointer = '/data/attributes/tag-selectors'
  const replaced = new Set(memberRefs.map(({ relation }) => relation))
  const validation = { tables, mayAssignNamespaces: mayAssignNamespaces(context, caller) }
  const problems = [
    ...(set.ok ? scopingConflicts(tables, set.value, { pointer, replaced }) : set.error),
    ...memberRefs.flatMap((one) => memberProblems(validation, set.ok ? set.value : before, one)),
  ]
  if (problems.length > 0 || !set.ok) return err({ code: 'invalid', problems })
  const members = memberRefs.flatMap((one) => replaceMembers(tables, set.value, one))
  const removedAttachments =
    set.value.global && !before.global ? removeAttachmentsChanges(tables, before, memberRefs) : []
  const changes = [...members, ...removedAttachments]
  if (changes.length === 0 && isEqual(before, set.value)) return found
  const after = { ...set.value, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    action: 'PolicySetUpdated',
    caller,
    organizationId: organization.id,
    affectedIds: [policySetId],
    changes: [put('policy_sets', after), ...changes],
  })
  return ok({ ...found.value, set: after })
}

/** Setting `global` removes the attachments, except those that the request has already replaced. */
function removeAttachmentsChanges(
  tables: Tables,
  set: PolicySetRow,
  memberRefs: readonly MemberRefs[],
): readonly Change[] {
  const replaced = new Set(memberRefs.map(({ relation }) => relation))
  return ATTACHMENTS.filter((relation) => !replaced.has(relation)).flatMap((relation) =>
    removeMembers(tables, set, { relation, ids: listMemberIds(tables, set.id, relation) }),
  )
}

/** Adds members to one relationship of a set, or removes them, atomically. */
export async function changeSetMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: Pick<MemberRefs, 'relation' | 'ids'> & {
    readonly policySetId: string
    readonly isRemoval: boolean
  },
): Promise<Result<void, GovernanceRefusal>> {
  const { policySetId, relation, ids, isRemoval } = request
  const found = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!found.ok) return found
  const { set, organization } = found.value
  const { tables } = context.store
  const memberRef = { relation, ids, pointer: '/data' }
  const validation = { tables, mayAssignNamespaces: mayAssignNamespaces(context, caller) }
  const problems = isRemoval ? [] : memberProblems(validation, set, memberRef)
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const changes = (isRemoval ? removeMembers : addMembers)(tables, set, { relation, ids })
  const updatedSet = put('policy_sets', { ...set, updatedMs: context.clock.nowMs() })
  await commitWrite(context, {
    action: 'PolicySetMembersChanged',
    caller,
    organizationId: organization.id,
    affectedIds: [policySetId],
    changes: changes.length === 0 ? [] : [updatedSet, ...changes],
  })
  return ok(undefined)
}

/** Deletes a set; its policies remain. */
export async function deletePolicySet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  policySetId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!found.ok) return found
  const { tables } = context.store
  const deleteRows = (
    table: 'policy_set_members' | 'policy_set_parameters' | 'policy_set_versions',
  ) => [...tables[table].keysByIndex('set', policySetId)].map((key) => remove(table, key))
  const codes = [...tables.policy_set_versions.keysByIndex('set', policySetId)].flatMap((id) =>
    [...tables.policy_codes.keysByIndex('owner', id)].map((key) => remove('policy_codes', key)),
  )
  await commitWrite(context, {
    action: 'PolicySetDeleted',
    caller,
    organizationId: found.value.organization.id,
    affectedIds: [policySetId],
    changes: [
      ...deleteRows('policy_set_members'),
      ...deleteRows('policy_set_parameters'),
      ...codes,
      ...deleteRows('policy_set_versions'),
      remove('policy_sets', policySetId),
    ],
  })
  return ok(undefined)
}
