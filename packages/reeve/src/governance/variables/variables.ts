import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
  isEqual,
  UNSEEN,
  type GovernanceRefusal,
  type RunVariableRow,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import {
  findWorkspaceWith,
  type SeenWorkspace,
  type WorkspaceAddress,
} from '../workspaces/find-workspace.ts'
import { effectiveVariables, type EffectiveVariable } from './effective-variables.ts'
import { oldestFirst } from '../by-creation.ts'
import { changedFields, keyProblems, newFields, sensitiveProblems } from './variable-fields.ts'

export interface SeenVariable extends SeenWorkspace {
  readonly variable: RunVariableRow
}

/** Lists the workspace's own variables, oldest first. */
export function listVariables(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Result<readonly RunVariableRow[], GovernanceRefusal> {
  const seen = findWorkspaceWith(context, caller, { address, right: 'readVariables' })
  if (!seen.ok) return seen
  const { run_variables: variables } = context.store.tables
  return ok(oldestFirst(variables, 'workspace', seen.value.workspace.id))
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
  const seen = findWorkspaceWith(context, caller, { address, right: 'readVariables' })
  return seen.ok ? ok(effectiveVariables(context.store.tables, seen.value.workspace)) : seen
}

interface VariablePath {
  readonly workspaceId: string
  readonly variableId: string
}

export function findVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: VariablePath & { readonly right: 'readVariables' | 'updateVariables' },
): Result<SeenVariable, GovernanceRefusal> {
  const { workspaceId, variableId, right } = wish
  const seen = findWorkspaceWith(context, caller, { address: { workspaceId }, right })
  if (!seen.ok) return seen
  const variable = context.store.tables.run_variables.find(variableId)
  if (variable === undefined || variable.workspaceId !== workspaceId) return err(UNSEEN)
  return ok({ ...seen.value, variable })
}

export async function createVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly workspaceId: string
    readonly data: v2.WorkspaceVariableCreateRequest['data']
  },
): Promise<Result<SeenVariable, GovernanceRefusal>> {
  const { workspaceId, data } = request
  const address = { workspaceId }
  const seen = findWorkspaceWith(context, caller, { address, right: 'updateVariables' })
  if (!seen.ok) return seen
  const { organizationId } = seen.value.workspace
  const { tables } = context.store
  const fields = newFields(context, organizationId, data.attributes)
  const variable: RunVariableRow = { ...fields, workspaceId }
  const problems = keyProblems(variable, takenBy(tables, variable))
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (tables.run_variables.countIn('workspace', workspaceId) >= v2.VARIABLES_MAX)
    return err(invalid('/data', `A workspace has at most ${v2.VARIABLES_MAX} variables`))
  await commitWrite(context, {
    action: 'VariableCreated',
    caller,
    organizationId,
    subjects: [variable.id],
    changes: [put('run_variables', variable)],
  })
  return ok({ ...seen.value, variable })
}

function takenBy(
  { run_variables: variables }: Tables,
  { workspaceId, category, key }: Pick<RunVariableRow, 'workspaceId' | 'category' | 'key'>,
): string | undefined {
  const [taken] = variables.keysIn('key', scopedKey(scopedKey(workspaceId, category), key))
  return taken
}

/** Updates a variable. A sensitive variable stays sensitive and keeps its key. */
export async function updateVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: VariablePath & { readonly data: v2.WorkspaceVariableUpdateRequest['data'] },
): Promise<Result<SeenVariable, GovernanceRefusal>> {
  const seen = findVariable(context, caller, { ...request, right: 'updateVariables' })
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
  await commitWrite(context, {
    action: 'VariableUpdated',
    caller,
    organizationId: before.organizationId,
    subjects: [before.id],
    changes: [put('run_variables', variable)],
  })
  return ok({ ...seen.value, variable })
}

export async function deleteVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  path: VariablePath,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findVariable(context, caller, { ...path, right: 'updateVariables' })
  if (!seen.ok) return seen
  const { id, organizationId } = seen.value.variable
  await commitWrite(context, {
    action: 'VariableDeleted',
    caller,
    organizationId,
    subjects: [id],
    changes: [remove('run_variables', id)],
  })
  return ok(undefined)
}
