import type { AttributeProblem, PolicySetRelation, PolicySetRow } from '../../model/index.ts'
import {
  policySetMemberIndexKey,
  put,
  remove,
  type Change,
  type Tables,
} from '../../state/index.ts'

/** Relationships that attach a set; a global set has none of them. */
export const ATTACHMENTS = ['projects', 'workspaces', 'namespaces'] as const
export type Attachment = (typeof ATTACHMENTS)[number]

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

export function countMembers(
  tables: Tables,
  policySetId: string,
  relation: PolicySetRelation,
): number {
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
