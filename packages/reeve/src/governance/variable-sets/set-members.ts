import type { v2 } from '@reeve/contract'
import type { AttributeProblem, VariableSetMemberRow, VariableSetRow } from '../../model/index.ts'
import { put, remove, scopedKey, type Change, type Tables } from '../../state/index.ts'

export type SetRelation = VariableSetMemberRow['relation']
const RELATIONS: readonly SetRelation[] = ['workspaces', 'projects']

/** Members that a request names for one relationship. */
export interface NamedMembers {
  readonly relation: SetRelation
  readonly ids: readonly string[]
  /** JSON pointer to the list in the request. */
  readonly pointer: string
}

type Relationships = NonNullable<v2.VariableSetUpdateRequest['data']['relationships']>

export function namedMembers(relationships: Relationships): readonly NamedMembers[] {
  return RELATIONS.flatMap((relation) => {
    const given = relationships[relation]
    const pointer = `/data/relationships/${relation}/data`
    return given === undefined ? [] : [{ relation, pointer, ids: given.data.map(({ id }) => id) }]
  })
}

/** Returns the member IDs of a relationship, in order. */
export function variableSetMembers(
  { variable_set_members: members }: Tables,
  variableSetId: string,
  relation: SetRelation,
): readonly string[] {
  return members
    .rowsIn('set', variableSetId)
    .filter((row) => row.relation === relation)
    .map(({ memberId }) => memberId)
}

/** Returns why members cannot be added. Objects of other organizations are reported as unknown. */
export function memberProblems(
  tables: Tables,
  set: VariableSetRow,
  { relation, ids, pointer }: NamedMembers,
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

export interface MemberChange extends Pick<NamedMembers, 'relation' | 'ids'> {
  /** `replace` replaces all members of the relationship. */
  readonly how: 'add' | 'remove' | 'replace'
}

/**
 * Returns only effective changes; adding an existing member or removing an unknown one is not an
 * error.
 */
export function memberChanges(
  tables: Tables,
  { id: variableSetId, organizationId }: Pick<VariableSetRow, 'id' | 'organizationId'>,
  { relation, ids, how }: MemberChange,
): readonly Change[] {
  const named = new Set(ids)
  const present = new Set(variableSetMembers(tables, variableSetId, relation))
  const gone = [...present].filter((id) => (how === 'remove') === named.has(id))
  const missing = [...named].filter((id) => !present.has(id))
  return [
    ...(how === 'add'
      ? []
      : gone.map((id) => remove('variable_set_members', memberKey(variableSetId, relation, id)))),
    ...(how === 'remove'
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
export function memberEnd(
  { variable_set_members: members }: Tables,
  index: 'set' | 'member',
  group: string,
  isWanted: (row: VariableSetMemberRow) => boolean = () => true,
): readonly Change[] {
  return members
    .rowsIn(index, group)
    .filter(isWanted)
    .map((row) =>
      remove('variable_set_members', memberKey(row.variableSetId, row.relation, row.memberId)),
    )
}
