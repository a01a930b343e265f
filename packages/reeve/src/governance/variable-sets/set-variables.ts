import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  isEqual,
  NOT_FOUND,
  type GovernanceRefusal,
  type SetVariableRow,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite, type GovernanceAction } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { rowsByCreation } from '../by-creation.ts'
import {
  applyVariableAttributes,
  keyProblems,
  newVariableFields,
  sensitiveProblems,
} from '../variables/variable-fields.ts'
import { findVariableSet, type VisibleVariableSet } from './find-variable-set.ts'
import type { VariableSetRight } from './set-rights.ts'

export interface VisibleSetVariable extends VisibleVariableSet {
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
  await commitVariable(context, caller, { variable, action: 'VariableCreated' })
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
  await commitVariable(context, caller, { variable, action: 'VariableUpdated' })
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
    action: 'VariableDeleted',
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
  { variable, action }: { readonly variable: SetVariableRow; readonly action: GovernanceAction },
): Promise<void> {
  await commitWrite(context, {
    action,
    caller,
    organizationId: variable.organizationId,
    affectedIds: [variable.id],
    changes: [put('variable_set_variables', variable)],
  })
}
