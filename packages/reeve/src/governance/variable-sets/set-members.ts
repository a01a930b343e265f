import type { v2 } from '@reeve/contract'
import type { AttributeProblem, VariableSetMemberRow, VariableSetRow } from '../../model/index.ts'
import { put, remove, scopedKey, type Change, type Tables } from '../../state/index.ts'

type SetRelation = VariableSetMemberRow['relation']
const RELATIONS: readonly SetRelation[] = ['workspaces', 'projects']

/** Members that a request names for one relationship. */
export interface MemberRefs {
  readonly relation: SetRelation
  readonly ids: readonly string[]
  /** JSON pointer to the list in the request. */
  readonly pointer: string
}

type Relationships = NonNullable<v2.VariableSetUpdateRequest['data']['relationships']>

export function toMemberRefs(relationships: Relationships): readonly MemberRefs[] {
  return RELATIONS.flatMap((relation) => {
    const requested = relationships[relation]
    const pointer = `/data/relationships/${relation}/data`
    return requested === undefined
      ? []
      : [{ relation, pointer, ids: requested.data.map(({ id }) => id) }]
  })
}

/** Returns the member IDs of a relationship, in order. */
export function variableSetMembers(
  { variable_set_members: members }: Tables,
  variableSetId: string,
  relation: SetRelation,
): readonly string[] {
  return members
    .rowsByIndex('set', variableSetId)
    .filter((row) => row.relation === relation)
    .map(({ memberId }) => memberId)
}

/** Returns why members cannot be added. Objects of other organizations are reported as unknown. */
export function memberProblems(
  tables: Tables,
  set: VariableSetRow,
  { relation, ids, pointer }: MemberRefs,
): readonly AttributeProblem[] {
  if (ids.length === 0) return []
  if (set.global) return [{ pointer, detail: `The set is global: it cannot name ${relation}` }]
  return ids.flatMap((id, i) => {
    const detail = MEMBER_PROBLEMS[relation](tables, set, id)
    return detail === undefined ? [] : [{ pointer: `${pointer}/${i}`, detail }]
  })
}

type MemberProblem = (tables: Tables, set: VariableSetRow, id: string) => string | undefined

const MEMBER_PROBLEMS: Readonly<Record<SetRelation, MemberProblem>> = {
  workspaces: ({ workspaces }, { organizationId, projectId }, id) => {
    const row = workspaces.find(id)
    if (row === undefined || row.organizationId !== organizationId)
      return `Workspace ${id} does not exist`
    return projectId === null || row.projectId === projectId
      ? undefined
      : `Workspace ${id} is not in the project that owns the set`
  },
  projects: ({ projects }, { organizationId, projectId }, id) => {
    if (projects.find(id)?.organizationId !== organizationId) return `Project ${id} does not exist`
    return projectId === null || id === projectId
      ? undefined
      : 'The set belongs to another project and applies to that one only'
  },
}

interface SetMemberChange extends Pick<MemberRefs, 'relation' | 'ids'> {
  /** `replace` replaces all members of the relationship. */
  readonly mode: 'add' | 'remove' | 'replace'
}

/**
 * Returns only effective changes; adding an existing member or removing an unknown one is not an
 * error.
 */
export function memberChanges(
  tables: Tables,
  { id: variableSetId, organizationId }: Pick<VariableSetRow, 'id' | 'organizationId'>,
  { relation, ids, mode }: SetMemberChange,
): readonly Change[] {
  const requestedIds = new Set(ids)
  const present = new Set(variableSetMembers(tables, variableSetId, relation))
  const removedIds = [...present].filter((id) => (mode === 'remove') === requestedIds.has(id))
  const missing = [...requestedIds].filter((id) => !present.has(id))
  return [
    ...(mode === 'add'
      ? []
      : removedIds.map((id) =>
          remove('variable_set_members', memberKey(variableSetId, relation, id)),
        )),
    ...(mode === 'remove'
      ? []
      : missing.map((memberId) =>
          put('variable_set_members', { variableSetId, organizationId, relation, memberId }),
        )),
  ]
}

function memberKey(variableSetId: string, relation: SetRelation, memberId: string): string {
  return scopedKey(scopedKey(variableSetId, relation), memberId)
}

/** Deletes the memberships of a set, or those of a member in all sets. */
export function deleteMembersChanges(
  { variable_set_members: members }: Tables,
  index: 'set' | 'member',
  group: string,
  isWanted: (row: VariableSetMemberRow) => boolean = () => true,
): readonly Change[] {
  return members
    .rowsByIndex(index, group)
    .filter(isWanted)
    .map((row) =>
      remove('variable_set_members', memberKey(row.variableSetId, row.relation, row.memberId)),
    )
}
