import { v2 } from '@reeve/contract'
import type { Result } from '@reeve/kit/result.ts'
import {
  changeVariableSetMembers,
  createSetVariable,
  createVariableSet,
  deleteSetVariable,
  deleteVariableSet,
  findProject,
  findSetMaker,
  findSetVariable,
  findVariableSet,
  findWorkspace,
  listVariableSets,
  setsOfProject,
  setsOfWorkspace,
  setVariables,
  updateSetVariable,
  updateVariableSet,
  variableSetMembers,
  type GovernanceCaller,
  type GovernanceContext,
  type SeenVariableSet,
} from '../../governance/index.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { answer, created, NO_CONTENT, paged, single, whole, windowOf } from './documents.ts'
import { endpoint, type Outcome, type Resource, type V2Endpoint } from './endpoint.ts'
import { projectResource } from './resources/project.ts'
import { setVariableResource, variableSetResource } from './resources/variable-set.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes, VARIABLE_SET_INCLUDES } = v2

const WITH_INCLUDES = { includes: VARIABLE_SET_INCLUDES }

export function variableSetEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...listEndpoints(context),
    endpoint(
      v2Routes.createVariableSet,
      async ({ caller, params, body }) =>
        answer(
          await createVariableSet(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (seen) => created(variableSetResource(context.store.tables, seen)),
        ),
      { guard: ({ caller, params }) => findSetMaker(context, caller, params.organization_name) },
    ),
    endpoint(
      v2Routes.readVariableSet,
      (request) =>
        answer(
          findVariableSet(context, request.caller, { ...idOf(request.params), right: 'read' }),
          (seen) => shown(context, seen, request),
        ),
      WITH_INCLUDES,
    ),
    endpoint(
      v2Routes.updateVariableSet,
      async (request) =>
        answer(
          await updateVariableSet(context, request.caller, {
            ...idOf(request.params),
            data: request.body.data,
          }),
          (seen) => shown(context, seen, request),
        ),
      { ...WITH_INCLUDES, guard: writable(context) },
    ),
    endpoint(v2Routes.deleteVariableSet, async ({ caller, params }) =>
      answer(await deleteVariableSet(context, caller, params.variable_set_id), () => NO_CONTENT),
    ),
    ...MEMBER_ROUTES.map((one) => memberEndpoint(context, one)),
    ...variableEndpoints(context),
  ]
}

interface OneSet {
  readonly caller: GovernanceCaller
  readonly params: { readonly variable_set_id: string }
}

function idOf({ variable_set_id: variableSetId }: OneSet['params']) {
  return { variableSetId }
}

function writable(context: GovernanceContext) {
  return ({ caller, params }: OneSet) =>
    findVariableSet(context, caller, { ...idOf(params), right: 'update' })
}

interface Asking {
  readonly caller: GovernanceCaller
  readonly includes: ReadonlySet<string>
}

function shown(context: GovernanceContext, seen: SeenVariableSet, asking: Asking): Outcome {
  const resource = variableSetResource(context.store.tables, seen)
  return single(resource, includedIn(context, [seen], asking))
}

function listEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.listVariableSets,
      (request) => {
        const { caller, params, query } = request
        const wish = { organizationName: params.organization_name, part: query.q ?? '' }
        return page(context, request, listVariableSets(context, caller, wish))
      },
      WITH_INCLUDES,
    ),
    endpoint(
      v2Routes.listWorkspaceVariableSets,
      (request) => {
        const found = setsOfWorkspace(context, request.caller, request.params.workspace_id)
        return page(context, request, found)
      },
      WITH_INCLUDES,
    ),
    endpoint(
      v2Routes.listProjectVariableSets,
      (request) => {
        const found = setsOfProject(context, request.caller, request.params.project_id)
        return page(context, request, found)
      },
      WITH_INCLUDES,
    ),
  ]
}

function page(
  context: GovernanceContext,
  request: Parameters<typeof paged>[0] & Asking,
  found: Result<readonly SeenVariableSet[], GovernanceRefusal>,
): Outcome {
  return answer(found, (all) => {
    const { skip, take } = windowOf(request.page)
    const sets = all.slice(skip, skip + take)
    const items = sets.map((seen) => variableSetResource(context.store.tables, seen))
    return paged(request, { items, total: all.length, ...includedIn(context, sets, request) })
  })
}

/** Returns the objects that sets refer to and the caller may read; others remain identifiers. */
function includedIn(
  context: GovernanceContext,
  sets: readonly SeenVariableSet[],
  { caller, includes }: Asking,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const { tables } = context.store
  const included = sets.flatMap(({ set }): Resource[] => [
    ...(includes.has('vars') ? setVariables(tables, set.id).map(setVariableResource) : []),
    ...(includes.has('workspaces')
      ? variableSetMembers(tables, set.id, 'workspaces').flatMap((workspaceId) => {
          const seen = findWorkspace(context, caller, { workspaceId })
          return seen.ok ? [workspaceResource(context, seen.value)] : []
        })
      : []),
    ...(includes.has('projects')
      ? variableSetMembers(tables, set.id, 'projects').flatMap((projectId) => {
          const seen = findProject(context, caller, projectId)
          return seen.ok ? [projectResource(tables, seen.value)] : []
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
      const change = { ...idOf(params), relation, ids, how }
      return answer(await changeVariableSetMembers(context, caller, change), () => NO_CONTENT)
    },
    { guard: writable(context) },
  )
}

function variableEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listVariableSetVariables, ({ caller, params }) =>
      answer(findVariableSet(context, caller, { ...idOf(params), right: 'read' }), ({ set }) =>
        whole(setVariables(context.store.tables, set.id).map(setVariableResource)),
      ),
    ),
    endpoint(
      v2Routes.createVariableSetVariable,
      async ({ caller, params, body }) =>
        answer(
          await createSetVariable(context, caller, { ...idOf(params), data: body.data }),
          ({ variable }) => created(setVariableResource(variable)),
        ),
      { guard: writable(context) },
    ),
    endpoint(v2Routes.readVariableSetVariable, ({ caller, params }) =>
      answer(
        findSetVariable(context, caller, { ...pathOfVariable(params), right: 'read' }),
        ({ variable }) => single(setVariableResource(variable)),
      ),
    ),
    endpoint(
      v2Routes.updateVariableSetVariable,
      async ({ caller, params, body }) =>
        answer(
          await updateSetVariable(context, caller, { ...pathOfVariable(params), data: body.data }),
          ({ variable }) => single(setVariableResource(variable)),
        ),
      {
        guard: ({ caller, params }) =>
          findSetVariable(context, caller, { ...pathOfVariable(params), right: 'update' }),
      },
    ),
    endpoint(v2Routes.deleteVariableSetVariable, async ({ caller, params }) =>
      answer(await deleteSetVariable(context, caller, pathOfVariable(params)), () => NO_CONTENT),
    ),
  ]
}

function pathOfVariable(params: {
  readonly variable_set_id: string
  readonly set_variable_id: string
}) {
  return { variableSetId: params.variable_set_id, variableId: params.set_variable_id }
}
