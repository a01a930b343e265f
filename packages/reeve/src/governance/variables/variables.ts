import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
  isEqual,
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type RunVariableRow,
} from '../../model/index.ts'
import { compareCreation, put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import {
  findWorkspaceWith,
  type SeenWorkspace,
  type WorkspaceAddress,
} from '../workspaces/find-workspace.ts'
import { keyProblem } from './variable-keys.ts'

export interface SeenVariable extends SeenWorkspace {
  readonly variable: RunVariableRow
}

/** The variables of a workspace, oldest first. */
export function variablesOf(
  { run_variables: variables }: Tables,
  workspaceId: string,
): readonly RunVariableRow[] {
  return [...variables.keysIn('workspace', workspaceId)]
    .map((key) => ({ key, createIndex: variables.createIndexOf(key) ?? 0 }))
    .toSorted(compareCreation)
    .map(({ key }) => variables.get(key))
}

export function listVariables(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Result<readonly RunVariableRow[], GovernanceRefusal> {
  const seen = findWorkspaceWith(context, caller, { address, right: 'readVariables' })
  return seen.ok ? ok(variablesOf(context.store.tables, seen.value.workspace.id)) : seen
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

/** A missing value is an empty one. A sensitive one is sealed at once. */
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
  const { key, value, description, category, hcl = false, sensitive = false } = data.attributes
  const { organizationId } = seen.value.workspace
  const id = newId(context.ids, 'vars')
  const problems = ruleProblems(context.store.tables, { id, workspaceId, key, category })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const { run_variables: variables } = context.store.tables
  if (variables.countIn('workspace', workspaceId) >= v2.WORKSPACE_VARIABLES_MAX)
    return err(invalid('/data', `A workspace has at most ${v2.WORKSPACE_VARIABLES_MAX} variables`))
  const variable: RunVariableRow = {
    id,
    organizationId,
    workspaceId,
    key,
    value: sensitive ? context.sealer.seal(value ?? '') : (value ?? ''),
    description: description || null,
    category,
    hcl,
    sensitive,
    versionId: context.ids.uuid(),
    createdMs: context.clock.nowMs(),
  }
  await commitWrite(context, {
    action: 'VariableCreated',
    caller,
    organizationId,
    subjects: [id],
    changes: [put('run_variables', variable)],
  })
  return ok({ ...seen.value, variable })
}

/** What the schema cannot say: the form of the key by its category, and that it is free. */
function ruleProblems(
  tables: Tables,
  {
    id,
    workspaceId,
    key,
    category,
  }: Pick<RunVariableRow, 'id' | 'workspaceId' | 'key' | 'category'>,
): readonly AttributeProblem[] {
  const pointer = '/data/attributes/key'
  const group = scopedKey(scopedKey(workspaceId, category), key)
  const [taken] = tables.run_variables.keysIn('key', group)
  const detail =
    taken !== undefined && taken !== id ? 'Key has already been taken' : keyProblem(category, key)
  return detail === undefined ? [] : [{ pointer, detail }]
}

/** What is sensitive stays so, under the same key. */
export async function updateVariable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: VariablePath & { readonly data: v2.WorkspaceVariableUpdateRequest['data'] },
): Promise<Result<SeenVariable, GovernanceRefusal>> {
  const seen = findVariable(context, caller, { ...request, right: 'updateVariables' })
  if (!seen.ok) return seen
  const { variable: before } = seen.value
  const { attributes = {} } = request.data
  const changed = withAttributes(context, before, attributes)
  const problems = [
    ...sensitiveProblems(before, attributes),
    ...ruleProblems(context.store.tables, changed),
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

type NewAttributes = NonNullable<v2.WorkspaceVariableUpdateRequest['data']['attributes']>

function withAttributes(
  { sealer }: GovernanceContext,
  before: RunVariableRow,
  { key, value, description, category, hcl, sensitive = false }: NewAttributes,
): RunVariableRow {
  const isSensitive = before.sensitive || sensitive
  const isSame = value === undefined && before.sensitive === isSensitive
  const text = value === undefined ? before.value : (value ?? '')
  return {
    ...before,
    key: key ?? before.key,
    // A value that was open until now is sealed with the first change that says so.
    value: isSame ? before.value : isSensitive ? sealer.seal(text) : text,
    description: description === undefined ? before.description : description || null,
    category: category ?? before.category,
    hcl: hcl ?? before.hcl,
    sensitive: isSensitive,
  }
}

function sensitiveProblems(
  before: RunVariableRow,
  { key, sensitive }: NewAttributes,
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
