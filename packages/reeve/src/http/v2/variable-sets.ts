import { v2 } from '@reeve/contract'
import type { Result } from '@reeve/kit/result.ts'
import {
  changeVariableSetMembers,
  createSetVariable,
  createVariableSet,
  deleteSetVariable,
  deleteVariableSet,
  findProject,
  findOrganizationForNewVariableSet,
  findSetVariable,
  findVariableSet,
  findWorkspace,
  listVariableSets,
  setsOfProject,
  setsOfWorkspace,
  listSetVariables,
  updateSetVariable,
  updateVariableSet,
  variableSetMembers,
  type GovernanceCaller,
  type GovernanceContext,
  type VisibleVariableSet,
  createVariable,
  deleteVariable,
  findVariable,
  findWorkspaceWith,
  listEffectiveVariables,
  listVariables,
  updateVariable,
  type EffectiveVariable,
} from '../../governance/index.ts'
import type { GovernanceRefusal, RunVariableRow } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  listDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type JsonApiResult, type Resource, type V2Endpoint } from './endpoint.ts'
import { resourcePath, toOne } from './resources/links.ts'
import { projectResource } from './resources/project.ts'
import {
  setVariableResource,
  variableAttributes,
  variableSetResource,
} from './resources/variable-set.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes } = v2
const { VARIABLE_SET_INCLUDES } = v2

const WITH_INCLUDES = { includes: VARIABLE_SET_INCLUDES }

export function variableSetEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...listEndpoints(context),
    endpoint(
      v2Routes.createVariableSet,
      async ({ caller, params, body }) =>
        mapResult(
          await createVariableSet(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (visible) => createdDocument(variableSetResource(context.store.tables, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationForNewVariableSet(context, caller, params.organization_name),
      },
    ),
    endpoint(
      v2Routes.readVariableSet,
      (request) =>
        mapResult(
          findVariableSet(context, request.caller, {
            ...variableSetRef(request.params),
            right: 'read',
          }),
          (visible) => variableSetResponse(context, visible, request),
        ),
      WITH_INCLUDES,
    ),
    endpoint(
      v2Routes.updateVariableSet,
      async (request) =>
        mapResult(
          await updateVariableSet(context, request.caller, {
            ...variableSetRef(request.params),
            data: request.body.data,
          }),
          (visible) => variableSetResponse(context, visible, request),
        ),
      { ...WITH_INCLUDES, authorize: authorizeUpdate(context) },
    ),
    endpoint(v2Routes.deleteVariableSet, async ({ caller, params }) =>
      mapResult(await deleteVariableSet(context, caller, params.variable_set_id), () => NO_CONTENT),
    ),
    ...MEMBER_ROUTES.map((one) => memberEndpoint(context, one)),
    ...variableEndpoints(context),
  ]
}

interface VariableSetRequest {
  readonly caller: GovernanceCaller
  readonly params: { readonly variable_set_id: string }
}

function variableSetRef({ variable_set_id: variableSetId }: VariableSetRequest['params']) {
  return { variableSetId }
}

function authorizeUpdate(context: GovernanceContext) {
  return ({ caller, params }: VariableSetRequest) =>
    findVariableSet(context, caller, { ...variableSetRef(params), right: 'update' })
}

interface IncludeRequest {
  readonly caller: GovernanceCaller
  readonly includes: ReadonlySet<string>
}

function variableSetResponse(
  context: GovernanceContext,
  visible: VisibleVariableSet,
  request: IncludeRequest,
): JsonApiResult {
  const resource = variableSetResource(context.store.tables, visible)
  return resourceDocument(resource, includedResources(context, [visible], request))
}

function listEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.listVariableSets,
      (request) => {
        const { caller, params, query } = request
        const input = { organizationName: params.organization_name, part: query.q ?? '' }
        return pageResponse(context, request, listVariableSets(context, caller, input))
      },
      WITH_INCLUDES,
    ),
    endpoint(
      v2Routes.listWorkspaceVariableSets,
      (request) => {
        const found = setsOfWorkspace(context, request.caller, request.params.workspace_id)
        return pageResponse(context, request, found)
      },
      WITH_INCLUDES,
    ),
    endpoint(
      v2Routes.listProjectVariableSets,
      (request) => {
        const found = setsOfProject(context, request.caller, request.params.project_id)
        return pageResponse(context, request, found)
      },
      WITH_INCLUDES,
    ),
  ]
}

function pageResponse(
  context: GovernanceContext,
  request: Parameters<typeof pageDocument>[0] & IncludeRequest,
  found: Result<readonly VisibleVariableSet[], GovernanceRefusal>,
): JsonApiResult {
  return mapResult(found, (all) => {
    const { offset, limit } = offsetAndLimit(request.page)
    const sets = all.slice(offset, offset + limit)
    const items = sets.map((visible) => variableSetResource(context.store.tables, visible))
    return pageDocument(request, {
      items,
      total: all.length,
      ...includedResources(context, sets, request),
    })
  })
}

/** Returns the objects that sets refer to and the caller may read; others remain identifiers. */
function includedResources(
  context: GovernanceContext,
  sets: readonly VisibleVariableSet[],
  { caller, includes }: IncludeRequest,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const { tables } = context.store
  const included = sets.flatMap(({ set }): Resource[] => [
    ...(includes.has('vars') ? listSetVariables(tables, set.id).map(setVariableResource) : []),
    ...(includes.has('workspaces')
      ? variableSetMembers(tables, set.id, 'workspaces').flatMap((workspaceId) => {
          const visible = findWorkspace(context, caller, { workspaceId })
          return visible.ok ? [workspaceResource(context, visible.value)] : []
        })
      : []),
    ...(includes.has('projects')
      ? variableSetMembers(tables, set.id, 'projects').flatMap((projectId) => {
          const visible = findProject(context, caller, projectId)
          return visible.ok ? [projectResource(tables, visible.value)] : []
        })
      : []),
  ])
  return { included }
}

const MEMBER_ROUTES = [
  { id: 'addVariableSetWorkspaces', relation: 'workspaces', how: 'add' },
  { id: 'removeVariableSetWorkspaces', relation: 'workspaces', how: 'remove' },
  { id: 'addVariableSetProjects', relation: 'projects', how: 'add' },
  { id: 'removeVariableSetProjects', relation: 'projects', how: 'remove' },
] as const

function memberEndpoint(
  context: GovernanceContext,
  { id, relation, how }: (typeof MEMBER_ROUTES)[number],
): V2Endpoint {
  return endpoint(
    v2Routes[id],
    async ({ caller, params, body }) => {
      const ids = body.data.map((member) => member.id)
      const change = { ...variableSetRef(params), relation, ids, how }
      return mapResult(await changeVariableSetMembers(context, caller, change), () => NO_CONTENT)
    },
    { authorize: authorizeUpdate(context) },
  )
}

function variableEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listVariableSetVariables, ({ caller, params }) =>
      mapResult(
        findVariableSet(context, caller, { ...variableSetRef(params), right: 'read' }),
        ({ set }) =>
          listDocument(listSetVariables(context.store.tables, set.id).map(setVariableResource)),
      ),
    ),
    endpoint(
      v2Routes.createVariableSetVariable,
      async ({ caller, params, body }) =>
        mapResult(
          await createSetVariable(context, caller, { ...variableSetRef(params), data: body.data }),
          ({ variable }) => createdDocument(setVariableResource(variable)),
        ),
      { authorize: authorizeUpdate(context) },
    ),
    endpoint(v2Routes.readVariableSetVariable, ({ caller, params }) =>
      mapResult(
        findSetVariable(context, caller, { ...variableRef(params), right: 'read' }),
        ({ variable }) => resourceDocument(setVariableResource(variable)),
      ),
    ),
    endpoint(
      v2Routes.updateVariableSetVariable,
      async ({ caller, params, body }) =>
        mapResult(
          await updateSetVariable(context, caller, { ...variableRef(params), data: body.data }),
          ({ variable }) => resourceDocument(setVariableResource(variable)),
        ),
      {
        authorize: ({ caller, params }) =>
          findSetVariable(context, caller, { ...variableRef(params), right: 'update' }),
      },
    ),
    endpoint(v2Routes.deleteVariableSetVariable, async ({ caller, params }) =>
      mapResult(await deleteSetVariable(context, caller, variableRef(params)), () => NO_CONTENT),
    ),
  ]
}

function variableRef(params: {
  readonly variable_set_id: string
  readonly set_variable_id: string
}) {
  return { variableSetId: params.variable_set_id, variableId: params.set_variable_id }
}

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
