import { v2 } from '@reeve/contract'
import type { Result } from '@reeve/kit/result.ts'
import {
  createVariable,
  deleteVariable,
  findVariable,
  findWorkspaceWith,
  listEffectiveVariables,
  listVariables,
  updateVariable,
  type EffectiveVariable,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { GovernanceRefusal, RunVariableRow } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  resourceDocument,
  listDocument,
} from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint } from './endpoint.ts'
import { resourcePath, toOne } from './resources/links.ts'
import { variableAttributes } from './resources/variable-set.ts'

const { v2Routes } = v2

export function workspaceVariableEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listWorkspaceVariables, ({ caller, params }) =>
      listDocumentOf(listVariables(context, caller, { workspaceId: params.workspace_id })),
    ),
    endpoint(v2Routes.listAllWorkspaceVariables, ({ caller, params }) => {
      const { workspace_id: workspaceId } = params
      return mapResult(listEffectiveVariables(context, caller, { workspaceId }), (variables) =>
        listDocument(variables.map((one) => effectiveVariableResource(workspaceId, one))),
      )
    }),
    endpoint(v2Routes.findWorkspaceVariables, ({ caller, query }) =>
      listDocumentOf(
        listVariables(context, caller, {
          organizationName: query['filter[organization][name]'],
          workspaceName: query['filter[workspace][name]'],
        }),
      ),
    ),
    endpoint(
      v2Routes.createWorkspaceVariable,
      async ({ caller, params, body }) => {
        const input = { workspaceId: params.workspace_id, data: body.data }
        return mapResult(await createVariable(context, caller, input), ({ variable }) =>
          createdDocument(variableResource(variable)),
        )
      },
      {
        authorize: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'updateVariables',
          }),
      },
    ),
    ...variableItemEndpoints(context),
  ]
}

function variableItemEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.readWorkspaceVariable, ({ caller, params }) =>
      mapResult(
        findVariable(context, caller, { ...workspaceVariableRef(params), right: 'readVariables' }),
        ({ variable }) => resourceDocument(variableResource(variable)),
      ),
    ),
    endpoint(
      v2Routes.updateWorkspaceVariable,
      async ({ caller, params, body }) =>
        mapResult(
          await updateVariable(context, caller, {
            ...workspaceVariableRef(params),
            data: body.data,
          }),
          ({ variable }) => resourceDocument(variableResource(variable)),
        ),
      {
        authorize: ({ caller, params }) =>
          findVariable(context, caller, {
            ...workspaceVariableRef(params),
            right: 'updateVariables',
          }),
      },
    ),
    endpoint(v2Routes.deleteWorkspaceVariable, async ({ caller, params }) =>
      mapResult(
        await deleteVariable(context, caller, workspaceVariableRef(params)),
        () => NO_CONTENT,
      ),
    ),
  ]
}

function workspaceVariableRef(params: {
  readonly workspace_id: string
  readonly variable_id: string
}) {
  return { workspaceId: params.workspace_id, variableId: params.variable_id }
}

function listDocumentOf(
  found: Result<readonly RunVariableRow[], GovernanceRefusal>,
): JsonApiResult {
  return mapResult(found, (variables) => listDocument(variables.map(variableResource)))
}

function variableResource(variable: RunVariableRow): v2.WorkspaceVariable {
  const { id, workspaceId } = variable
  return {
    id,
    type: 'vars',
    attributes: variableAttributes(variable),
    relationships: { configurable: toOne('workspaces', workspaceId) },
    links: { self: resourcePath('workspaces', workspaceId, 'vars', id) },
  }
}

function effectiveVariableResource(
  workspaceId: string,
  { variable, setId }: EffectiveVariable,
): v2.WorkspaceVariable {
  const resource = variableResource({ ...variable, workspaceId })
  if (setId === undefined) return resource
  return {
    ...resource,
    relationships: { ...resource.relationships, varset: toOne('varsets', setId) },
    links: { self: resourcePath('varsets', setId, 'relationships', 'vars', variable.id) },
  }
}
