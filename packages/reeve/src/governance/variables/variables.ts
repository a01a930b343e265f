import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  isEqual,
  NOT_FOUND,
  type GovernanceRefusal,
  type RunVariableRow,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import {
  findWorkspaceWith,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from '../workspaces/find-workspace.ts'
import { effectiveVariables, type EffectiveVariable } from './effective-variables.ts'
import { rowsByCreation } from '../by-creation.ts'
import {
  applyVariableAttributes,
  keyProblems,
  newVariableFields,
  sensitiveProblems,
} from './variable-fields.ts'

export interface VisibleVariable extends VisibleWorkspace {
  readonly variable: RunVariableRow
}

/** Lists the workspace's own variables, oldest first. */
export function listVariables(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Result<readonly RunVariableRow[], GovernanceRefusal> {
  const found = findWorkspaceWith(context, caller, { address, right: 'readVariables' })
  if (!found.ok) return found
  const { run_variables: variables } = context.store.tables
  return ok(rowsByCreation(variables, 'workspace', found.value.workspace.id))
}

/**
 * Lists the variables that the runs of a workspace receive: its own, and those of its variable
 * sets.
 */
export function listEffectiveVariables(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Result<readonly EffectiveVariable[], GovernanceRefusal> {
  const found = findWorkspaceWith(context, caller, { address, right: 'readVariables' })
  return found.ok ? ok(effectiveVariables(context.store.tables, found.value.workspace)) : found
}

interface VariableRef {
  readonly workspaceId: string
  readonly variableId: string
}

export function findVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: VariableRef & { readonly right: 'readVariables' | 'updateVariables' },
): Result<VisibleVariable, GovernanceRefusal> {
  const { workspaceId, variableId, right } = request
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right })
  if (!found.ok) return found
  const variable = context.store.tables.run_variables.find(variableId)
  if (variable === undefined || variable.workspaceId !== workspaceId) return err(NOT_FOUND)
  return ok({ ...found.value, variable })
}

export async function createVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly workspaceId: string
    readonly data: v2.WorkspaceVariableCreateRequest['data']
  },
): Promise<Result<VisibleVariable, GovernanceRefusal>> {
  const { workspaceId, data } = request
  const address = { workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right: 'updateVariables' })
  if (!found.ok) return found
  const { organizationId } = found.value.workspace
  const { tables } = context.store
  const fields = newVariableFields(context, organizationId, data.attributes)
  const variable: RunVariableRow = { ...fields, workspaceId }
  const problems = keyProblems(variable, existingVariableId(tables, variable))
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (tables.run_variables.countByIndex('workspace', workspaceId) >= v2.VARIABLES_MAX)
    return err(invalidAttribute('/data', `A workspace has at most ${v2.VARIABLES_MAX} variables`))
  await commitWrite(context, {
    action: 'VariableCreated',
    caller,
    organizationId,
    affectedIds: [variable.id],
    changes: [put('run_variables', variable)],
  })
  return ok({ ...found.value, variable })
}

function existingVariableId(
  { run_variables: variables }: Tables,
  { workspaceId, category, key }: Pick<RunVariableRow, 'workspaceId' | 'category' | 'key'>,
): string | undefined {
  const [existingId] = variables.keysByIndex(
    'key',
    scopedKey(scopedKey(workspaceId, category), key),
  )
  return existingId
}

/** Updates a variable. A sensitive variable stays sensitive and keeps its key. */
export async function updateVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: VariableRef & { readonly data: v2.WorkspaceVariableUpdateRequest['data'] },
): Promise<Result<VisibleVariable, GovernanceRefusal>> {
  const found = findVariable(context, caller, { ...request, right: 'updateVariables' })
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
  await commitWrite(context, {
    action: 'VariableUpdated',
    caller,
    organizationId: before.organizationId,
    affectedIds: [before.id],
    changes: [put('run_variables', variable)],
  })
  return ok({ ...found.value, variable })
}

export async function deleteVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  ref: VariableRef,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findVariable(context, caller, { ...ref, right: 'updateVariables' })
  if (!found.ok) return found
  const { id, organizationId } = found.value.variable
  await commitWrite(context, {
    action: 'VariableDeleted',
    caller,
    organizationId,
    affectedIds: [id],
    changes: [remove('run_variables', id)],
  })
  return ok(undefined)
}
