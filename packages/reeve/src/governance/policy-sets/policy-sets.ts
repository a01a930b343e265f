import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  type GovernanceRefusal,
  type PolicySetRow,
  type AttributeProblem,
} from '../../model/index.ts'
import {
  put,
  remove,
  type Change,
  type Tables,
  normalizeName,
  scopedKey,
} from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { intersect } from '../list-index.ts'
import {
  findPolicyOrganization,
  findPolicySet,
  type VisiblePolicySet,
} from '../policies/find-policy.ts'
import { mayAssignNamespaces } from '../projects/project-namespaces.ts'
import {
  addMembers,
  ATTACHMENTS,
  memberProblems,
  removeMembers,
  replaceMembers,
  SET_RELATIONS,
  listMemberIds,
  type MemberRefs,
  normalizeSelectors,
  scopingConflicts,
  scopingTypeOf,
  selectorProblems,
} from './scope.ts'

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

type SetAttributes = NonNullable<v2.PolicySetUpdateRequest['data']['attributes']>

/** Default tool version of a set. */
const TOOL_VERSION_DEFAULT = 'latest'

/**
 * Applies the attributes of a request to a set; omitted ones are unchanged. Returns all violations
 * on failure.
 */
function withAttributes(
  tables: Tables,
  before: PolicySetRow,
  attributes: SetAttributes,
): Result<PolicySetRow, readonly AttributeProblem[]> {
  const set = mergeAttributes(before, attributes)
  const problems = [
    ...nameProblems(tables, set),
    ...kindProblems(before, attributes),
    ...selectorProblems(set, attributes['tag-selectors'] ?? [], '/data/attributes/tag-selectors'),
  ]
  return problems.length > 0 ? err(problems) : ok(set)
}

function mergeAttributes(before: PolicySetRow, attributes: SetAttributes): PolicySetRow {
  const { name, description } = attributes
  const { kind } = before
  const global = attributes.global ?? before.global
  const agentEnabled = attributes['agent-enabled'] ?? before.agentEnabled
  const requestedSelectors = attributes['tag-selectors']
  const selectors =
    requestedSelectors === undefined ? before.tagSelectors : normalizeSelectors(requestedSelectors)
  // Setting `global` removes tag selectors, unless the request contains some.
  const becomesGlobal = global && !before.global && requestedSelectors === undefined
  const tagSelectors = becomesGlobal ? selectors.filter((one) => one['is-exclude']) : selectors
  const path = attributes['policies-path']
  return {
    ...before,
    name: name ?? before.name,
    description: description === undefined ? before.description : description || null,
    global,
    agentEnabled,
    ...toolSettings({ ...before, kind, agentEnabled }, attributes),
    policiesPath: path === undefined ? before.policiesPath : path || null,
    policyUpdatePatterns: attributes['policy-update-patterns'] ?? before.policyUpdatePatterns,
    tagSelectors,
    scopingType: scopingTypeOf(tagSelectors),
  }
}

/**
 * `overridable` and the tool version do not apply to a native set that no agent evaluates. Existing
 * clients send a version nevertheless, which is ignored.
 */
function toolSettings(
  { kind, agentEnabled, overridable, policyToolVersion }: PolicySetRow,
  attributes: SetAttributes,
): Pick<PolicySetRow, 'overridable' | 'policyToolVersion'> {
  if (kind === 'native' && !agentEnabled) return { overridable: null, policyToolVersion: null }
  const override = attributes.overridable
  const version = attributes['policy-tool-version']
  return {
    overridable: (override === undefined ? overridable : override) ?? false,
    policyToolVersion:
      (version === undefined ? policyToolVersion : version) || TOOL_VERSION_DEFAULT,
  }
}

function nameProblems(
  tables: Tables,
  { id, organizationId, name }: PolicySetRow,
): readonly AttributeProblem[] {
  const [existingId] = tables.policy_sets.keysByIndex(
    'name',
    scopedKey(organizationId, normalizeName(name)),
  )
  return existingId === undefined || existingId === id
    ? []
    : [{ pointer: '/data/attributes/name', detail: 'Name has already been taken' }]
}

function kindProblems(before: PolicySetRow, { kind }: SetAttributes): readonly AttributeProblem[] {
  return kind === undefined || kind === before.kind
    ? []
    : [{ pointer: '/data/attributes/kind', detail: 'Kind cannot be changed' }]
}

interface PolicySetSearch {
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
  const idsWith = (index: 'kind' | 'versioned', value: string): ReadonlySet<string> =>
    new Set(sets.keysByIndex(index, scopedKey(scope, value)))
  const page = context.lists.policySets.page({
    scope,
    order: 'oldest',
    search: nameContains,
    restrictTo: intersect([
      kind === undefined ? undefined : idsWith('kind', kind),
      versioned === undefined ? undefined : idsWith('versioned', String(versioned)),
    ]),
    skip: offset,
    take: limit,
  })
  return ok({
    sets: page.keys.map((key) => ({ ...lookup.value, set: sets.get(key) })),
    total: page.total,
  })
}
