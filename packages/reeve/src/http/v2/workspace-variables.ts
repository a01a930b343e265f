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
import { answer, created, NO_CONTENT, single, whole } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint } from './endpoint.ts'
import { pathOf, toOne } from './resources/links.ts'
import { variableAttributes } from './resources/variable-set.ts'

const { v2Routes } = v2

export function workspaceVariableEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listWorkspaceVariables, ({ caller, params }) =>
      listed(listVariables(context, caller, { workspaceId: params.workspace_id })),
    ),
    endpoint(v2Routes.listAllWorkspaceVariables, ({ caller, params }) => {
      const { workspace_id: workspaceId } = params
      return answer(listEffectiveVariables(context, caller, { workspaceId }), (variables) =>
        whole(variables.map((one) => effectiveResource(workspaceId, one))),
      )
    }),
    endpoint(v2Routes.findWorkspaceVariables, ({ caller, query }) =>
      listed(
        listVariables(context, caller, {
          organizationName: query['filter[organization][name]'],
          workspaceName: query['filter[workspace][name]'],
        }),
      ),
    ),
    endpoint(
      v2Routes.createWorkspaceVariable,
      async ({ caller, params, body }) => {
        const wish = { workspaceId: params.workspace_id, data: body.data }
        return answer(await createVariable(context, caller, wish), ({ variable }) =>
          created(variableResource(variable)),
        )
      },
      {
        guard: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'updateVariables',
          }),
      },
    ),
    ...itemEndpoints(context),
  ]
}

function itemEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.readWorkspaceVariable, ({ caller, params }) =>
      answer(
        findVariable(context, caller, { ...idsOf(params), right: 'readVariables' }),
        ({ variable }) => single(variableResource(variable)),
      ),
    ),
    endpoint(
      v2Routes.updateWorkspaceVariable,
      async ({ caller, params, body }) =>
        answer(
          await updateVariable(context, caller, { ...idsOf(params), data: body.data }),
          ({ variable }) => single(variableResource(variable)),
        ),
      {
        guard: ({ caller, params }) =>
          findVariable(context, caller, { ...idsOf(params), right: 'updateVariables' }),
      },
    ),
    endpoint(v2Routes.deleteWorkspaceVariable, async ({ caller, params }) =>
      answer(await deleteVariable(context, caller, idsOf(params)), () => NO_CONTENT),
    ),
  ]
}

function idsOf(params: { readonly workspace_id: string; readonly variable_id: string }) {
  return { workspaceId: params.workspace_id, variableId: params.variable_id }
}

function listed(found: Result<readonly RunVariableRow[], GovernanceRefusal>): Outcome {
  return answer(found, (variables) => whole(variables.map(variableResource)))
}

function variableResource(variable: RunVariableRow): v2.WorkspaceVariable {
  const { id, workspaceId } = variable
  return {
    id,
    type: 'vars',
    attributes: variableAttributes(variable),
    relationships: { configurable: toOne('workspaces', workspaceId) },
    links: { self: pathOf('workspaces', workspaceId, 'vars', id) },
  }
}

function effectiveResource(
  workspaceId: string,
  { variable, setId }: EffectiveVariable,
): v2.WorkspaceVariable {
  const own = variableResource({ ...variable, workspaceId })
  if (setId === undefined) return own
  return {
    ...own,
    relationships: { ...own.relationships, varset: toOne('varsets', setId) },
    links: { self: pathOf('varsets', setId, 'relationships', 'vars', variable.id) },
  }
}
