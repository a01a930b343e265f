import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
  isEqual,
  UNSEEN,
  type GovernanceRefusal,
  type SetVariableRow,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite, type GovernanceAction } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { oldestFirst } from '../by-creation.ts'
import {
  changedFields,
  keyProblems,
  newFields,
  sensitiveProblems,
} from '../variables/variable-fields.ts'
import { findVariableSet, type SeenVariableSet } from './find-variable-set.ts'
import type { VariableSetRight } from './set-rights.ts'

export interface SeenSetVariable extends SeenVariableSet {
  readonly variable: SetVariableRow
}

interface VariablePath {
  readonly variableSetId: string
  readonly variableId: string
}

/** The variables of a set, oldest first. */
export function setVariables(tables: Tables, variableSetId: string): readonly SetVariableRow[] {
  return oldestFirst(tables.variable_set_variables, 'set', variableSetId)
}

export function findSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { variableSetId, variableId, right }: VariablePath & { readonly right: VariableSetRight },
): Result<SeenSetVariable, GovernanceRefusal> {
  const seen = findVariableSet(context, caller, { variableSetId, right })
  if (!seen.ok) return seen
  const variable = context.store.tables.variable_set_variables.find(variableId)
  if (variable === undefined || variable.variableSetId !== variableSetId) return err(UNSEEN)
  return ok({ ...seen.value, variable })
}

export async function createSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly variableSetId: string
    readonly data: v2.WorkspaceVariableCreateRequest['data']
  },
): Promise<Result<SeenSetVariable, GovernanceRefusal>> {
  const { variableSetId, data } = request
  const seen = findVariableSet(context, caller, { variableSetId, right: 'update' })
  if (!seen.ok) return seen
  const { organization } = seen.value
  const { tables } = context.store
  const fields = newFields(context, organization.id, data.attributes)
  const variable: SetVariableRow = { ...fields, variableSetId }
  const problems = keyProblems(variable, takenBy(tables, variable))
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (tables.variable_set_variables.countIn('set', variableSetId) >= v2.VARIABLES_MAX)
    return err(invalid('/data', `A variable set has at most ${v2.VARIABLES_MAX} variables`))
  await write(context, caller, { variable, action: 'VariableCreated' })
  return ok({ ...seen.value, variable })
}

function takenBy(
  { variable_set_variables: variables }: Tables,
  { variableSetId, category, key }: Pick<SetVariableRow, 'variableSetId' | 'category' | 'key'>,
): string | undefined {
  const [taken] = variables.keysIn('key', scopedKey(scopedKey(variableSetId, category), key))
  return taken
}

export async function updateSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: VariablePath & { readonly data: v2.WorkspaceVariableUpdateRequest['data'] },
): Promise<Result<SeenSetVariable, GovernanceRefusal>> {
  const seen = findSetVariable(context, caller, { ...request, right: 'update' })
  if (!seen.ok) return seen
  const { variable: before } = seen.value
  const { attributes = {} } = request.data
  const changed = changedFields(context, before, attributes)
  const problems = [
    ...sensitiveProblems(before, attributes),
    ...keyProblems(changed, takenBy(context.store.tables, changed)),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (isEqual(before, changed)) return seen
  const variable = { ...changed, versionId: context.ids.uuid() }
  await write(context, caller, { variable, action: 'VariableUpdated' })
  return ok({ ...seen.value, variable })
}

export async function deleteSetVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  path: VariablePath,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findSetVariable(context, caller, { ...path, right: 'update' })
  if (!seen.ok) return seen
  const { id, organizationId } = seen.value.variable
  await commitWrite(context, {
    action: 'VariableDeleted',
    caller,
    organizationId,
    subjects: [id],
    changes: [remove('variable_set_variables', id)],
  })
  return ok(undefined)
}

async function write(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { variable, action }: { readonly variable: SetVariableRow; readonly action: GovernanceAction },
): Promise<void> {
  await commitWrite(context, {
    action,
    caller,
    organizationId: variable.organizationId,
    subjects: [variable.id],
    changes: [put('variable_set_variables', variable)],
  })
}
