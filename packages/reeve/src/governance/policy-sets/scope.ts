import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type {
  AttributeProblem,
  GovernanceRefusal,
  PolicySetRelation,
  PolicySetRow,
} from '../../model/index.ts'
import {
  policySetMemberIndexKey,
  put,
  remove,
  type Change,
  type Tables,
} from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicySet } from '../policies/find-policy.ts'

/** Relationships that attach a set; a global set has none of them. */
export const ATTACHMENTS = ['projects', 'workspaces', 'namespaces'] as const
type Attachment = (typeof ATTACHMENTS)[number]

/** All writable relationships, in the order of the schema. */
export const SET_RELATIONS = [
  ...ATTACHMENTS,
  'workspace-exclusions',
  'project-exclusions',
  'policies',
] as const satisfies readonly PolicySetRelation[]

/** Members that a request names for one relationship. */
export interface MemberRefs {
  readonly relation: PolicySetRelation
  readonly ids: readonly string[]
  /** JSON pointer to the list in the request. */
  readonly pointer: string
}

/** Returns the member IDs of a relationship, in order. */
export function listMemberIds(
  tables: Tables,
  policySetId: string,
  relation: PolicySetRelation,
): readonly string[] {
  return tables.policy_set_members
    .rowsByIndex('relation', policySetMemberIndexKey(policySetId, relation))
    .map(({ memberId }) => memberId)
}

function countMembers(tables: Tables, policySetId: string, relation: PolicySetRelation): number {
  return tables.policy_set_members.countByIndex(
    'relation',
    policySetMemberIndexKey(policySetId, relation),
  )
}

/** Context in which member IDs are validated. */
interface MemberValidation {
  readonly tables: Tables
  /** See `mayGiveNamespaces`. */
  readonly mayAssignNamespaces: boolean
}

/** Returns the problems of adding members: those of the set's state, and those of each ID. */
export function memberProblems(
  { tables, mayAssignNamespaces }: MemberValidation,
  set: PolicySetRow,
  { relation, ids, pointer }: MemberRefs,
): readonly AttributeProblem[] {
  if (ids.length === 0) return []
  const relationError = relationProblem(set, relation)
  if (relationError !== undefined) return [{ pointer, detail: relationError }]
  return ids.flatMap((id, i) => {
    // Existing members are always accepted.
    if (tables.policy_set_members.has(memberKey(set.id, relation, id))) return []
    const detail = MEMBER_CHECKS[relation]({ tables, mayAssignNamespaces, set, id })
    return detail === undefined ? [] : [{ pointer: `${pointer}/${i}`, detail }]
  })
}

function relationProblem(set: PolicySetRow, relation: PolicySetRelation): string | undefined {
  const label = relation.charAt(0).toUpperCase() + relation.slice(1)
  if (relation === 'policies')
    return set.currentVersionId === null
      ? undefined
      : 'Policies cannot be changed: the set is versioned'
  if (!isAttachment(relation)) return undefined
  if (set.global) return `${label} cannot be given: the set is global`
  if (set.tagSelectors.length > 0) return `${label} cannot be given: the set goes by tags`
  return undefined
}

function isAttachment(relation: PolicySetRelation): relation is Attachment {
  const attachments: readonly PolicySetRelation[] = ATTACHMENTS
  return attachments.includes(relation)
}

interface MemberCheck extends MemberValidation {
  readonly set: PolicySetRow
  readonly id: string
}

/**
 * Returns why an ID cannot be a member; undefined if it can. Objects of other organizations are
 * reported as unknown.
 */
const MEMBER_CHECKS: Readonly<
  Record<PolicySetRelation, (check: MemberCheck) => string | undefined>
> = {
  policies: ({ tables, set, id }) => {
    const policy = tables.run_policies.find(id)
    if (policy === undefined || policy.organizationId !== set.organizationId)
      return `Policy ${id} does not exist`
    return policy.kind === set.kind ? undefined : `Policy ${id} is of the kind ${policy.kind}`
  },
  projects: projectProblem,
  'project-exclusions': projectProblem,
  workspaces: workspaceProblem,
  'workspace-exclusions': workspaceProblem,
  namespaces: namespaceProblem,
}

/**
 * Only namespaces that were assigned to the organization are known (`addProjectNamespaces`); others
 * are reported as unknown.
 */
function namespaceProblem({
  tables,
  mayAssignNamespaces,
  set,
  id,
}: MemberCheck): string | undefined {
  const owner = tables.project_namespaces.find(id)?.organizationId
  if (owner === set.organizationId) return undefined
  if (!mayAssignNamespaces)
    return (
      `Namespace ${id} belongs to no project of the organization; ` +
      'the site administrator adds it to one'
    )
  if (!tables.namespaces.has(id)) return `Namespace ${id} does not exist`
  return owner === undefined ? undefined : `Namespace ${id} belongs to another organization`
}

function projectProblem({ tables, set, id }: MemberCheck): string | undefined {
  const exists = tables.projects.find(id)?.organizationId === set.organizationId
  return exists ? undefined : `Project ${id} does not exist`
}

function workspaceProblem({ tables, set, id }: MemberCheck): string | undefined {
  const exists = tables.workspaces.find(id)?.organizationId === set.organizationId
  return exists ? undefined : `Workspace ${id} does not exist`
}

type MemberIds = Pick<MemberRefs, 'relation' | 'ids'>

/** Adds members; existing ones are unchanged. */
export function addMembers(
  tables: Tables,
  { id: policySetId, organizationId }: PolicySetRow,
  { relation, ids }: MemberIds,
): readonly Change[] {
  return [...new Set(ids)]
    .filter((id) => !tables.policy_set_members.has(memberKey(policySetId, relation, id)))
    .map((memberId) =>
      put('policy_set_members', { policySetId, organizationId, relation, memberId }),
    )
}

/** Removes members; unknown IDs are ignored. */
export function removeMembers(
  tables: Tables,
  { id: policySetId }: PolicySetRow,
  { relation, ids }: MemberIds,
): readonly Change[] {
  return [...new Set(ids)]
    .map((id) => memberKey(policySetId, relation, id))
    .filter((key) => tables.policy_set_members.has(key))
    .map((key) => remove('policy_set_members', key))
}

/** Replaces the members of the relationship. */
export function replaceMembers(
  tables: Tables,
  set: PolicySetRow,
  { relation, ids }: MemberIds,
): readonly Change[] {
  const wanted = new Set(ids)
  const removedIds = listMemberIds(tables, set.id, relation).filter((id) => !wanted.has(id))
  return [
    ...removeMembers(tables, set, { relation, ids: removedIds }),
    ...addMembers(tables, set, { relation, ids }),
  ]
}

function memberKey(policySetId: string, relation: PolicySetRelation, memberId: string): string {
  return `${policySetMemberIndexKey(policySetId, relation)}!${memberId}`
}

type NewSelectors = readonly v2.NewTagSelector[]

/** Returns distinct selectors with defaults for omitted members. */
export function normalizeSelectors(requested: NewSelectors): readonly v2.TagSelector[] {
  const selectors = requested.map((one) => ({
    'tag-key': one['tag-key'],
    'tag-value': one['tag-value'] ?? null,
    'is-exclude': one['is-exclude'] ?? false,
  }))
  return [...new Map(selectors.map((one) => [selectorKey(one), one])).values()]
}

function selectorKey(selector: v2.TagSelector): string {
  return JSON.stringify([selector['tag-key'], selector['tag-value'], selector['is-exclude']])
}

/** A global set applies everywhere, so its selectors can only exclude. */
export function selectorProblems(
  set: Pick<PolicySetRow, 'global'>,
  requested: NewSelectors,
  pointer: string,
): readonly AttributeProblem[] {
  if (!set.global || requested.every((one) => one['is-exclude'] === true)) return []
  return [{ pointer, detail: 'Tag selectors of a global set can only exclude' }]
}

interface ScopingCheck {
  readonly pointer: string
  /** Relationships that the same request replaces, whose current members are ignored. */
  readonly replaced: ReadonlySet<PolicySetRelation>
}

/** A set with project or workspace attachments cannot have tag selectors too. */
export function scopingConflicts(
  tables: Tables,
  set: PolicySetRow,
  { pointer, replaced }: ScopingCheck,
): readonly AttributeProblem[] {
  // A global set has no attachments, or loses them with this request.
  if (set.global || set.tagSelectors.length === 0) return []
  const hasAttachments = ATTACHMENTS.some(
    (relation) => !replaced.has(relation) && countMembers(tables, set.id, relation) > 0,
  )
  const detail = 'Tag selectors cannot be given: the set names where it applies'
  return hasAttachments ? [{ pointer, detail }] : []
}

const NO_REPLACED_RELATIONS: ScopingCheck = { pointer: '/data', replaced: new Set() }

/** Returns the scoping of a set: by tags if it has selectors. */
export function scopingTypeOf(selectors: readonly v2.TagSelector[]): PolicySetRow['scopingType'] {
  return selectors.length > 0 ? 'tag' : 'explicit'
}

/** Adds or removes tag selectors of a set. */
export async function changeTagSelectors(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly policySetId: string
    readonly selectors: NewSelectors
    readonly isRemoval: boolean
  },
): Promise<Result<void, GovernanceRefusal>> {
  const { policySetId, isRemoval } = request
  const found = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!found.ok) return found
  const { set, organization } = found.value
  const requested = normalizeSelectors(request.selectors)
  const keys = new Set(requested.map(selectorKey))
  const remaining = set.tagSelectors.filter((one) => !keys.has(selectorKey(one)))
  const existingKeys = new Set(set.tagSelectors.map(selectorKey))
  const added = requested.filter((one) => !existingKeys.has(selectorKey(one)))
  const tagSelectors = isRemoval ? remaining : [...set.tagSelectors, ...added]
  const after: PolicySetRow = { ...set, tagSelectors, scopingType: scopingTypeOf(tagSelectors) }
  const problems = isRemoval
    ? []
    : [
        ...selectorProblems(set, requested, '/data'),
        ...scopingConflicts(context.store.tables, after, NO_REPLACED_RELATIONS),
        ...countProblems(tagSelectors.length),
      ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const isSame = tagSelectors.length === set.tagSelectors.length
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [set.id],
    changes: isSame ? [] : [put('policy_sets', { ...after, updatedMs: context.clock.nowMs() })],
  })
  return ok(undefined)
}

function countProblems(count: number): readonly AttributeProblem[] {
  if (count <= v2.TAG_SELECTORS_MAX) return []
  const detail = `Tag selectors are too many (maximum is ${v2.TAG_SELECTORS_MAX})`
  return [{ pointer: '/data', detail }]
}
