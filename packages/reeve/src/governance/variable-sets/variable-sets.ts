import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
  isEqual,
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type VariableSetRow,
} from '../../model/index.ts'
import { foldName, put, remove, scopedKey, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { keyProblems, newFields } from '../variables/variable-fields.ts'
import { firstOfEach } from '../variables/effective-variables.ts'
import { findSetMaker, findVariableSet, type SeenVariableSet } from './find-variable-set.ts'
import { mayWrite } from './set-rights.ts'
import {
  memberChanges,
  memberEnd,
  memberProblems,
  namedMembers,
  type NamedMembers,
} from './set-members.ts'

type CreateData = v2.VariableSetCreateRequest['data']
type Attributes = NonNullable<v2.VariableSetUpdateRequest['data']['attributes']>
type NewVariables = NonNullable<NonNullable<CreateData['relationships']>['vars']>['data']

/** Creates a set with its variables and members, atomically. */
export async function createVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, data }: { readonly organizationName: string; readonly data: CreateData },
): Promise<Result<SeenVariableSet, GovernanceRefusal>> {
  const seat = findSetMaker(context, caller, organizationName)
  if (!seat.ok) return seat
  const { organization, standing, reach } = seat.value
  const { attributes, relationships = {} } = data
  const { tables } = context.store
  const owner = ownerOf(tables, organization, relationships.parent?.data)
  if (!owner.ok) return owner
  if (!mayWrite(reach, { projectId: owner.value })) return err(UNSEEN)
  const set = withAttributes(
    blankSet(context, { organizationId: organization.id, projectId: owner.value }),
    attributes,
  )
  const named = namedMembers(relationships)
  const variables = relationships.vars?.data ?? []
  const problems = [
    ...setProblems(tables, set),
    ...named.flatMap((one) => memberProblems(tables, set, one)),
    ...variableProblems(variables),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (tables.variable_sets.countIn('organization', organization.id) >= v2.VARIABLE_SETS_MAX)
    return err(
      invalid('/data', `An organization has at most ${v2.VARIABLE_SETS_MAX} variable sets`),
    )
  await commitWrite(context, {
    action: 'VariableSetCreated',
    caller,
    organizationId: organization.id,
    subjects: [set.id],
    changes: [
      put('variable_sets', set),
      ...named.flatMap((one) => memberChanges(tables, set, { ...one, how: 'add' })),
      ...variables.map(({ attributes: variable }) =>
        put('variable_set_variables', {
          ...newFields(context, organization.id, variable),
          variableSetId: set.id,
        }),
      ),
    ],
  })
  return ok({ organization, standing, set })
}

/** Returns the project that owns the set; null for the organization. */
function ownerOf(
  { projects }: Tables,
  { id, name }: { readonly id: string; readonly name: string },
  parent: { readonly id: string; readonly type: 'organizations' | 'projects' } | undefined,
): Result<string | null, GovernanceRefusal> {
  const pointer = '/data/relationships/parent/data'
  if (parent === undefined) return ok(null)
  if (parent.type === 'organizations')
    return foldName(parent.id) === foldName(name)
      ? ok(null)
      : err(invalid(pointer, 'Parent must be the organization of the path'))
  return projects.find(parent.id)?.organizationId === id
    ? ok(parent.id)
    : err(invalid(pointer, `Project ${parent.id} does not exist`))
}

function blankSet(
  { ids, clock }: GovernanceContext,
  owner: Pick<VariableSetRow, 'organizationId' | 'projectId'>,
): VariableSetRow {
  const nowMs = clock.nowMs()
  return {
    ...owner,
    id: newId(ids, 'varsets'),
    name: '',
    description: null,
    global: false,
    priority: false,
    createdMs: nowMs,
    updatedMs: nowMs,
  }
}

function withAttributes(
  before: VariableSetRow,
  { name, description, global, priority }: Attributes,
): VariableSetRow {
  return {
    ...before,
    name: name ?? before.name,
    description: description === undefined ? before.description : description || null,
    global: global ?? before.global,
    priority: priority ?? before.priority,
  }
}

function setProblems(tables: Tables, set: VariableSetRow): readonly AttributeProblem[] {
  const { id, organizationId, projectId, name, global } = set
  const group = scopedKey(projectId ?? organizationId, foldName(name))
  const [taken] = tables.variable_sets.keysIn('name', group)
  return [
    ...(taken === undefined || taken === id
      ? []
      : [{ pointer: '/data/attributes/name', detail: 'Name has already been taken' }]),
    ...(global && projectId !== null
      ? [
          {
            pointer: '/data/attributes/global',
            detail: 'Global cannot be set: the set belongs to a project; add the project to it',
          },
        ]
      : []),
  ]
}

function variableProblems(variables: NewVariables): readonly AttributeProblem[] {
  const first = new Set(firstOfEach(variables, ({ attributes }) => attributes))
  return variables.flatMap((variable, i) => {
    const { key, category } = variable.attributes
    const takenBy = first.has(variable) ? undefined : 'another'
    return keyProblems({ id: '', key, category }, takenBy).map(({ detail }) => ({
      pointer: `/data/relationships/vars/data/${i}/attributes/key`,
      detail,
    }))
  })
}

/** Updates a set. Each relationship in the request is replaced as a whole. */
export async function updateVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly variableSetId: string; readonly data: v2.VariableSetUpdateRequest['data'] },
): Promise<Result<SeenVariableSet, GovernanceRefusal>> {
  const { variableSetId, data } = request
  const seen = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!seen.ok) return seen
  const { set: before, organization } = seen.value
  const { tables } = context.store
  const set = withAttributes(before, data.attributes ?? {})
  const named = namedMembers(data.relationships ?? {})
  const problems = [
    ...setProblems(tables, set),
    ...named.flatMap((one) => memberProblems(tables, set, one)),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const changes = [
    ...named.flatMap((one) => memberChanges(tables, set, { ...one, how: 'replace' })),
    ...(set.global && !before.global ? dropped(tables, set, named) : []),
  ]
  if (changes.length === 0 && isEqual(before, set)) return seen
  const after = { ...set, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    action: 'VariableSetUpdated',
    caller,
    organizationId: organization.id,
    subjects: [variableSetId],
    changes: [put('variable_sets', after), ...changes],
  })
  return ok({ ...seen.value, set: after })
}

/**
 * A global set has no members, so they are removed, except in relationships that the request has
 * replaced already.
 */
function dropped(
  tables: Tables,
  { id }: VariableSetRow,
  named: readonly NamedMembers[],
): readonly Change[] {
  const replaced = new Set(named.map(({ relation }) => relation))
  return memberEnd(tables, 'set', id, ({ relation }) => !replaced.has(relation))
}

/** Adds members to one relationship of a set, or removes them, atomically. */
export async function changeVariableSetMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: Pick<NamedMembers, 'relation' | 'ids'> & {
    readonly variableSetId: string
    readonly how: 'add' | 'remove'
  },
): Promise<Result<void, GovernanceRefusal>> {
  const { variableSetId, relation, ids, how } = request
  const seen = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!seen.ok) return seen
  const { set, organization } = seen.value
  const { tables } = context.store
  const problems =
    how === 'add' ? memberProblems(tables, set, { relation, ids, pointer: '/data' }) : []
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const changes = memberChanges(tables, set, { relation, ids, how })
  const touched = put('variable_sets', { ...set, updatedMs: context.clock.nowMs() })
  await commitWrite(context, {
    action: 'VariableSetMembersChanged',
    caller,
    organizationId: organization.id,
    subjects: [variableSetId],
    changes: changes.length === 0 ? [] : [touched, ...changes],
  })
  return ok(undefined)
}

export async function deleteVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  variableSetId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!seen.ok) return seen
  await commitWrite(context, {
    action: 'VariableSetDeleted',
    caller,
    organizationId: seen.value.organization.id,
    subjects: [variableSetId],
    changes: variableSetEnd(context.store.tables, variableSetId),
  })
  return ok(undefined)
}

/** Deletes a set with all its references. */
export function variableSetEnd(tables: Tables, variableSetId: string): readonly Change[] {
  return [
    ...memberEnd(tables, 'set', variableSetId),
    ...[...tables.variable_set_variables.keysIn('set', variableSetId)].map((key) =>
      remove('variable_set_variables', key),
    ),
    remove('variable_sets', variableSetId),
  ]
}
