import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  isEqual,
  NOT_FOUND,
  type GovernanceRefusal,
  type RunVariableRow,
  type AttributeProblem,
  type VariableFields,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import {
  findWorkspaceWith,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from '../workspaces/find-workspace.ts'
import { effectiveVariables, type EffectiveVariable } from './effective-variables.ts'
import { rowsByCreation } from '../list-index.ts'

interface VisibleVariable extends VisibleWorkspace {
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
    caller,
    organizationId,
    affectedIds: [id],
    changes: [remove('run_variables', id)],
  })
  return ok(undefined)
}

/** Common parts of workspace variables and variable set variables. */

type NewVariable = v2.WorkspaceVariableCreateRequest['data']['attributes']
type ChangedVariable = NonNullable<v2.WorkspaceVariableUpdateRequest['data']['attributes']>

/**
 * Returns the fields of a new variable. A missing value is empty. A sensitive value is encrypted
 * immediately.
 */
export function newVariableFields(
  { sealer, ids, clock }: GovernanceContext,
  organizationId: string,
  { key, value, description, category, hcl = false, sensitive = false }: NewVariable,
): VariableFields {
  return {
    id: newId(ids, 'vars'),
    organizationId,
    key,
    value: sensitive ? sealer.seal(value ?? '') : (value ?? ''),
    description: description || null,
    category,
    hcl,
    sensitive,
    versionId: ids.uuid(),
    createdMs: clock.nowMs(),
  }
}

/** Applies a request to a variable; its version is unchanged. */
export function applyVariableAttributes<V extends VariableFields>(
  { sealer }: GovernanceContext,
  before: V,
  { key, value, description, category, hcl, sensitive = false }: ChangedVariable,
): V {
  const isSensitive = before.sensitive || sensitive
  const isSame = value === undefined && before.sensitive === isSensitive
  const text = value === undefined ? before.value : (value ?? '')
  return {
    ...before,
    key: key ?? before.key,
    // A plain value is encrypted with the first change that marks it sensitive.
    value: isSame ? before.value : isSensitive ? sealer.seal(text) : text,
    description: description === undefined ? before.description : description || null,
    category: category ?? before.category,
    hcl: hcl ?? before.hcl,
    sensitive: isSensitive,
  }
}

/**
 * Returns problems that the schema cannot express: the syntax of the key in its category, and
 * duplicates.
 */
export function keyProblems(
  { id, key, category }: Pick<VariableFields, 'id' | 'key' | 'category'>,
  existingId: string | undefined,
): readonly AttributeProblem[] {
  const pointer = '/data/attributes/key'
  const isTaken = existingId !== undefined && existingId !== id
  const detail = isTaken ? 'Key has already been taken' : keyProblem(category, key)
  return detail === undefined ? [] : [{ pointer, detail }]
}

/** A sensitive variable stays sensitive and keeps its key. */
export function sensitiveProblems(
  before: VariableFields,
  { key, sensitive }: ChangedVariable,
): readonly AttributeProblem[] {
  if (!before.sensitive) return []
  const isRenamed = key !== undefined && key !== before.key
  return [
    ...(isRenamed
      ? [
          {
            pointer: '/data/attributes/key',
            detail: 'Key of a sensitive variable cannot be changed',
          },
        ]
      : []),
    ...(sensitive === false
      ? [{ pointer: '/data/attributes/sensitive', detail: 'Sensitive cannot be turned off' }]
      : []),
  ]
}

const CONFIGURATION_KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/
const ENVIRONMENT_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Environment variables that would change the programs, files or credentials that a run uses. */
const RESERVED_ENVIRONMENT = [
  /^TF_CLI_CONFIG_FILE$/,
  /^TF_DATA_DIR$/,
  /^TF_CLI_ARGS(?!_(?:plan|apply)$)/,
  /^TF_REATTACH_PROVIDERS$/,
  /^LD_/,
  /^(?:PATH|HOME)$/,
  /^REEVE_/,
]

/** Returns why a variable cannot have this key; undefined if it can. */
function keyProblem(category: RunVariableRow['category'], key: string): string | undefined {
  if (category === 'env') {
    if (!ENVIRONMENT_KEY.test(key)) return 'Key may only contain letters, numbers and _'
    if (RESERVED_ENVIRONMENT.some((pattern) => pattern.test(key)))
      return `Key ${key} is set by the run itself and cannot be a variable`
    return undefined
  }
  return CONFIGURATION_KEY.test(key) ? undefined : 'Key may only contain letters, numbers, - and _'
}
