import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type VariableSetRow,
  type SetVariableRow,
} from '../../model/index.ts'
import {
  normalizeName,
  put,
  remove,
  scopedKey,
  type Change,
  type Tables,
} from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { rowsByCreation } from '../list-index.ts'
import {
  applyVariableAttributes,
  keyProblems,
  newVariableFields,
  sensitiveProblems,
} from '../variables/variables.ts'
import { firstByKey } from '../variables/effective-variables.ts'
import {
  findOrganizationForNewVariableSet,
  findVariableSet,
  mayWriteSet,
  type VariableSetRight,
  type VisibleVariableSet,
} from './find-variable-set.ts'
import {
  memberChanges,
  deleteMembersChanges,
  memberProblems,
  toMemberRefs,
  type MemberRefs,
} from './set-members.ts'

type CreateData = v2.VariableSetCreateRequest['data']
type Attributes = NonNullable<v2.VariableSetUpdateRequest['data']['attributes']>
type NewVariables = NonNullable<NonNullable<CreateData['relationships']>['vars']>['data']

/** Creates a set with its variables and members, atomically. */
export async function createVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, data }: { readonly organizationName: string; readonly data: CreateData },
): Promise<Result<VisibleVariableSet, GovernanceRefusal>> {
  const found = findOrganizationForNewVariableSet(context, caller, organizationName)
  if (!found.ok) return found
  const { organization, role, reach } = found.value
  const { attributes, relationships = {} } = data
  const { tables } = context.store
  const owner = resolveOwner(tables, organization, relationships.parent?.data)
  if (!owner.ok) return owner
  if (!mayWriteSet(reach, { projectId: owner.value })) return err(NOT_FOUND)
  const set = withAttributes(
    newVariableSet(context, { organizationId: organization.id, projectId: owner.value }),
    attributes,
  )
  const memberRefs = toMemberRefs(relationships)
  const variables = relationships.vars?.data ?? []
  const problems = [
    ...setProblems(tables, set),
    ...memberRefs.flatMap((one) => memberProblems(tables, set, one)),
    ...variableProblems(variables),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (tables.variable_sets.countByIndex('organization', organization.id) >= v2.VARIABLE_SETS_MAX)
    return err(
      invalidAttribute(
        '/data',
        `An organization has at most ${v2.VARIABLE_SETS_MAX} variable sets`,
      ),
    )
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [set.id],
    changes: [
      put('variable_sets', set),
      ...memberRefs.flatMap((one) => memberChanges(tables, set, { ...one, mode: 'add' })),
      ...variables.map(({ attributes: variable }) =>
        put('variable_set_variables', {
          ...newVariableFields(context, organization.id, variable),
          variableSetId: set.id,
        }),
      ),
    ],
  })
  return ok({ organization, role, set })
}

/** Returns the project that owns the set; null for the organization. */
function resolveOwner(
  { projects }: Tables,
  { id, name }: { readonly id: string; readonly name: string },
  parent: { readonly id: string; readonly type: 'organizations' | 'projects' } | undefined,
): Result<string | null, GovernanceRefusal> {
  const pointer = '/data/relationships/parent/data'
  if (parent === undefined) return ok(null)
  if (parent.type === 'organizations')
    return normalizeName(parent.id) === normalizeName(name)
      ? ok(null)
      : err(invalidAttribute(pointer, 'Parent must be the organization of the path'))
  return projects.find(parent.id)?.organizationId === id
    ? ok(parent.id)
    : err(invalidAttribute(pointer, `Project ${parent.id} does not exist`))
}

function newVariableSet(
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
  const group = scopedKey(projectId ?? organizationId, normalizeName(name))
  const [existingId] = tables.variable_sets.keysByIndex('name', group)
  return [
    ...(existingId === undefined || existingId === id
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
  const first = new Set(firstByKey(variables, ({ attributes }) => attributes))
  return variables.flatMap((variable, i) => {
    const { key, category } = variable.attributes
    const existingId = first.has(variable) ? undefined : 'another'
    return keyProblems({ id: '', key, category }, existingId).map(({ detail }) => ({
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
): Promise<Result<VisibleVariableSet, GovernanceRefusal>> {
  const { variableSetId, data } = request
  const found = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!found.ok) return found
  const { set: before, organization } = found.value
  const { tables } = context.store
  const set = withAttributes(before, data.attributes ?? {})
  const memberRefs = toMemberRefs(data.relationships ?? {})
  const problems = [
    ...setProblems(tables, set),
    ...memberRefs.flatMap((one) => memberProblems(tables, set, one)),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const changes = [
    ...memberRefs.flatMap((one) => memberChanges(tables, set, { ...one, mode: 'replace' })),
    ...(set.global && !before.global ? removeMembersChanges(tables, set, memberRefs) : []),
  ]
  if (changes.length === 0 && isEqual(before, set)) return found
  const after = { ...set, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [variableSetId],
    changes: [put('variable_sets', after), ...changes],
  })
  return ok({ ...found.value, set: after })
}

/**
 * A global set has no members, so they are removed, except in relationships that the request has
 * replaced already.
 */
function removeMembersChanges(
  tables: Tables,
  { id }: VariableSetRow,
  memberRefs: readonly MemberRefs[],
): readonly Change[] {
  const replaced = new Set(memberRefs.map(({ relation }) => relation))
  return deleteMembersChanges(tables, 'set', id, ({ relation }) => !replaced.has(relation))
}

/** Adds members to one relationship of a set, or removes them, atomically. */
export async function changeVariableSetMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: Pick<MemberRefs, 'relation' | 'ids'> & {
    readonly variableSetId: string
    readonly how: 'add' | 'remove'
  },
): Promise<Result<void, GovernanceRefusal>> {
  const { variableSetId, relation, ids, how } = request
  const found = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!found.ok) return found
  const { set, organization } = found.value
  const { tables } = context.store
  const problems =
    how === 'add' ? memberProblems(tables, set, { relation, ids, pointer: '/data' }) : []
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const changes = memberChanges(tables, set, { relation, ids, mode: how })
  const updatedSet = put('variable_sets', { ...set, updatedMs: context.clock.nowMs() })
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [variableSetId],
    changes: changes.length === 0 ? [] : [updatedSet, ...changes],
  })
  return ok(undefined)
}

export async function deleteVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  variableSetId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!found.ok) return found
  await commitWrite(context, {
    caller,
    organizationId: found.value.organization.id,
    affectedIds: [variableSetId],
    changes: deleteVariableSetChanges(context.store.tables, variableSetId),
  })
  return ok(undefined)
}

/** Deletes a set with all its references. */
export function deleteVariableSetChanges(tables: Tables, variableSetId: string): readonly Change[] {
  return [
    ...deleteMembersChanges(tables, 'set', variableSetId),
    ...[...tables.variable_set_variables.keysByIndex('set', variableSetId)].map((key) =>
      remove('variable_set_variables', key),
    ),
    remove('variable_sets', variableSetId),
  ]
}

interface VisibleSetVariable extends VisibleVariableSet {
  readonly variable: SetVariableRow
}

interface SetVariableRef {
  readonly variableSetId: string
  readonly variableId: string
}

/** Returns the variables of a set, oldest first. */
export function listSetVariables(tables: Tables, variableSetId: string): readonly SetVariableRow[] {
  return rowsByCreation(tables.variable_set_variables, 'set', variableSetId)
}

export function findSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { variableSetId, variableId, right }: SetVariableRef & { readonly right: VariableSetRight },
): Result<VisibleSetVariable, GovernanceRefusal> {
  const found = findVariableSet(context, caller, { variableSetId, right })
  if (!found.ok) return found
  const variable = context.store.tables.variable_set_variables.find(variableId)
  if (variable === undefined || variable.variableSetId !== variableSetId) return err(NOT_FOUND)
  return ok({ ...found.value, variable })
}

export async function createSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly variableSetId: string
    readonly data: v2.WorkspaceVariableCreateRequest['data']
  },
): Promise<Result<VisibleSetVariable, GovernanceRefusal>> {
  const { variableSetId, data } = request
  const found = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!found.ok) return found
  const { organization } = found.value
  const { tables } = context.store
  const fields = newVariableFields(context, organization.id, data.attributes)
  const variable: SetVariableRow = { ...fields, variableSetId }
  const problems = keyProblems(variable, existingVariableId(tables, variable))
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (tables.variable_set_variables.countByIndex('set', variableSetId) >= v2.VARIABLES_MAX)
    return err(
      invalidAttribute('/data', `A variable set has at most ${v2.VARIABLES_MAX} variables`),
    )
  await commitVariable(context, caller, variable)
  return ok({ ...found.value, variable })
}

function existingVariableId(
  { variable_set_variables: variables }: Tables,
  { variableSetId, category, key }: Pick<SetVariableRow, 'variableSetId' | 'category' | 'key'>,
): string | undefined {
  const [existingId] = variables.keysByIndex(
    'key',
    scopedKey(scopedKey(variableSetId, category), key),
  )
  return existingId
}

export async function updateSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: SetVariableRef & { readonly data: v2.WorkspaceVariableUpdateRequest['data'] },
): Promise<Result<VisibleSetVariable, GovernanceRefusal>> {
  const found = findSetVariable(context, caller, { ...request, right: 'update' })
  if (!found.ok) return found
  const { variable: before } = found.value
  const { attributes = {} } = request.data
  const changed = applyVariableAttributes(context, before, attributes)
  const problems = [
    ...sensitiveProblems(before, attributes),
    ...keyProblems(changed, existingVariableId(context.store.tables, changed)),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (isEqual(before, changed)) return found
  const variable = { ...changed, versionId: context.ids.uuid() }
  await commitVariable(context, caller, variable)
  return ok({ ...found.value, variable })
}

export async function deleteSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  ref: SetVariableRef,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findSetVariable(context, caller, { ...ref, right: 'update' })
  if (!found.ok) return found
  const { id, organizationId } = found.value.variable
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [id],
    changes: [remove('variable_set_variables', id)],
  })
  return ok(undefined)
}

async function commitVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  variable: SetVariableRow,
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: variable.organizationId,
    affectedIds: [variable.id],
    changes: [put('variable_set_variables', variable)],
  })
}
