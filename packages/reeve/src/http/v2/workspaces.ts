import { v2 } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import {
  changeRemoteStateConsumers,
  createWorkspace,
  deleteWorkspace,
  findWorkspaceToLock,
  findWorkspace,
  findOrganizationForNewWorkspace,
  findWorkspaceWith,
  forceUnlockWorkspace,
  lockWorkspace,
  safeDeleteWorkspace,
  unlockWorkspace,
  updateWorkspace,
  type GovernanceContext,
  type VisibleWorkspace,
  type WorkspaceAddress,
  type WorkspaceWriteResult,
  findProject,
  findRun,
  findPublicUser,
  findTeam,
  listRemoteStateConsumers,
  listWorkspaces,
  type RemoteStateConsumersChange,
  summarizeRuns,
  visibleLockHolder,
  workspaceEffectiveTags,
  type WorkspaceOrder,
} from '../../governance/index.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  resourceDocument,
  pageDocument,
  offsetAndLimit,
} from './documents.ts'
import { RELATED_TAGS_RULE } from './body-validation.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { splitList, splitEnum } from './query.ts'
import { organizationResource } from './resources/organization.ts'
import { projectResource } from './resources/project.ts'
import { runResource } from './resources/run.ts'
import { effectiveTagBindingResource } from './resources/tag-binding.ts'
import { teamResource } from './resources/team.ts'
import { userResource } from './resources/users.ts'
import { workspaceResource } from './resources/workspace.ts'
import { parseTagFilters } from './tags.ts'

const { v2Routes } = v2
const { WORKSPACE_INCLUDES } = v2

/** Returns the routes of workspaces. Each route by ID has an equivalent by name. */
export function workspaceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    listWorkspacesEndpoint(context),
    endpoint(
      v2Routes.createWorkspace,
      async ({ caller, params, body }) =>
        mapResult(
          await createWorkspace(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (written) => createdDocument(...documentParts(context, written)),
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationForNewWorkspace(context, caller, params.organization_name),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    ...workspaceItemEndpoints(context),
    ...lockEndpoints(context),
    ...remoteStateEndpoints(context),
  ]
}

/** Returns a written workspace and notices about changes beyond the request. */
function documentParts(context: GovernanceContext, { visible, notices }: WorkspaceWriteResult) {
  const meta = notices.length === 0 ? {} : { meta: { notices } }
  return [workspaceResource(context, visible), meta] as const
}

function workspaceById(params: { readonly workspace_id: string }): WorkspaceAddress {
  return { workspaceId: params.workspace_id }
}

function workspaceByName(params: {
  readonly organization_name: string
  readonly workspace_name: string
}): WorkspaceAddress {
  return { organizationName: params.organization_name, workspaceName: params.workspace_name }
}

function workspaceItemEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: WORKSPACE_INCLUDES }
  const read = (request: ReadRequest, address: WorkspaceAddress): JsonApiResult =>
    mapResult(findWorkspace(context, request.caller, address), (visible) => {
      const { resources, included: more } = workspacesWithIncludes(context, request, [visible])
      const [resource = workspaceResource(context, visible)] = resources
      return resourceDocument(resource, more === undefined ? {} : { included: more })
    })
  return [
    endpoint(v2Routes.readWorkspace, (one) => read(one, workspaceById(one.params)), included),
    endpoint(
      v2Routes.readNamedWorkspace,
      (one) => read(one, workspaceByName(one.params)),
      included,
    ),
    endpoint(
      v2Routes.updateWorkspace,
      (one) => updateRoute(context, one, workspaceById(one.params)),
      {
        authorize: ({ caller, params }) => findUpdatable(context, caller, workspaceById(params)),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    endpoint(
      v2Routes.updateNamedWorkspace,
      (one) => updateRoute(context, one, workspaceByName(one.params)),
      {
        authorize: ({ caller, params }) => findUpdatable(context, caller, workspaceByName(params)),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    ...[deleteWorkspace, safeDeleteWorkspace].flatMap((deletion) => {
      const isForce = deletion === deleteWorkspace
      const respond = async (caller: Caller, address: WorkspaceAddress): Promise<JsonApiResult> =>
        mapResult(await deletion(context, caller, address), () => NO_CONTENT)
      return [
        endpoint(
          isForce ? v2Routes.deleteWorkspace : v2Routes.safeDeleteWorkspace,
          ({ caller, params }) => respond(caller, workspaceById(params)),
        ),
        endpoint(
          isForce ? v2Routes.deleteNamedWorkspace : v2Routes.safeDeleteNamedWorkspace,
          ({ caller, params }) => respond(caller, workspaceByName(params)),
        ),
      ]
    }),
  ]
}

type Caller = ReadRequest['caller']
type ReadRequest = Pick<V2Request<typeof v2Routes.readWorkspace>, 'caller' | 'includes'>
type UpdateRequest = Pick<V2Request<typeof v2Routes.updateWorkspace>, 'caller' | 'body'>

async function updateRoute(
  context: GovernanceContext,
  { caller, body }: UpdateRequest,
  address: WorkspaceAddress,
): Promise<JsonApiResult> {
  return mapResult(
    await updateWorkspace(context, caller, { address, data: body.data }),
    (written) => resourceDocument(...documentParts(context, written)),
  )
}

function findUpdatable(context: GovernanceContext, caller: Caller, address: WorkspaceAddress) {
  return findWorkspaceWith(context, caller, { address, right: 'update' })
}

function lockEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const toDocument = (visible: VisibleWorkspace): JsonApiResult =>
    resourceDocument(workspaceResource(context, visible))
  return [
    endpoint(
      v2Routes.lockWorkspace,
      async ({ caller, params, body }) =>
        mapResult(
          await lockWorkspace(context, caller, {
            workspaceId: params.workspace_id,
            reason: body?.reason ?? body?.data?.attributes?.reason ?? null,
          }),
          toDocument,
        ),
      {
        authorize: ({ caller, params }) =>
          findWorkspaceToLock(context, caller, { workspaceId: params.workspace_id, right: 'lock' }),
      },
    ),
    endpoint(v2Routes.unlockWorkspace, async ({ caller, params }) =>
      mapResult(await unlockWorkspace(context, caller, params.workspace_id), toDocument),
    ),
    endpoint(v2Routes.forceUnlockWorkspace, async ({ caller, params }) =>
      mapResult(await forceUnlockWorkspace(context, caller, params.workspace_id), toDocument),
    ),
  ]
}

function remoteStateEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const authorize = ({ caller, params }: ConsumersRequest) =>
    findUpdatable(context, caller, workspaceById(params))
  const change = async (
    { caller, params, body }: ConsumersRequest,
    mode: RemoteStateConsumersChange['mode'],
  ): Promise<JsonApiResult> => {
    const ids = body.data.map(({ id }) => id)
    const request = { workspaceId: params.workspace_id, ids, mode }
    return mapResult(await changeRemoteStateConsumers(context, caller, request), () => NO_CONTENT)
  }
  return [
    endpoint(v2Routes.listRemoteStateConsumers, (request) => {
      const { caller, params } = request
      const found = listRemoteStateConsumers(context, caller, params.workspace_id)
      return mapResult(found, (all) => {
        const { offset, limit } = offsetAndLimit(request.page)
        const items = all
          .slice(offset, offset + limit)
          .map((visible) => workspaceResource(context, visible))
        return pageDocument(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.addRemoteStateConsumers, (request) => change(request, 'add'), { authorize }),
    endpoint(v2Routes.replaceRemoteStateConsumers, (request) => change(request, 'replace'), {
      authorize,
    }),
    endpoint(v2Routes.removeRemoteStateConsumers, (request) => change(request, 'remove'), {
      authorize,
    }),
  ]
}

type ConsumersRequest = Pick<
  V2Request<typeof v2Routes.addRemoteStateConsumers>,
  'caller' | 'params' | 'body'
>

function listWorkspacesEndpoint(context: GovernanceContext): V2Endpoint {
  return endpoint(
    v2Routes.listWorkspaces,
    (request) => {
      const { caller, params, query, page } = request
      const tags = parseTagFilters(query)
      if (!tags.ok) return tags
      const runStatuses = parseRunStatuses(query)
      if (!runStatuses.ok) return runStatuses
      const result = listWorkspaces(context, caller, {
        organizationName: params.organization_name,
        nameContains: query['search[name]'],
        wildcard: query['search[wildcard-name]'],
        projectId: query['filter[project][id]'],
        tags: [...tags.value, ...splitKeys(query['search[tags]']).map(keyFilter)],
        excludedTagKeys: splitKeys(query['search[exclude-tags]']),
        runStatuses: runStatuses.value,
        order: query.sort === undefined ? 'newest' : ORDER_OF_SORT[query.sort],
        ...offsetAndLimit(page),
      })
      return mapResult(result, ({ workspaces, total }) => {
        const { resources, included } = workspacesWithIncludes(context, request, workspaces)
        return pageDocument(request, { items: resources, total, included })
      })
    },
    { includes: WORKSPACE_INCLUDES },
  )
}

type ListQuery = V2Request<typeof v2Routes.listWorkspaces>['query']
type Sort = NonNullable<ListQuery['sort']>

const ORDER_OF_SORT: Readonly<Record<Sort, WorkspaceOrder>> = {
  name: 'name',
  '-name': '-name',
  'latest-change-at': 'changed',
  '-latest-change-at': '-changed',
  'current-run.created-at': 'current-run',
  '-current-run.created-at': '-current-run',
}

function splitKeys(text: string | undefined): readonly string[] {
  return text === undefined ? [] : splitList(text)
}

function keyFilter(key: string) {
  return { key, value: '' }
}

function parseRunStatuses(
  query: ListQuery,
): Result<readonly string[] | undefined, GovernanceRefusal> {
  const name = 'filter[current-run][status]'
  const text = query[name]
  return text === undefined ? ok(undefined) : splitEnum(name, text, v2.RUN_STATUSES)
}

type IncludeRequest = Pick<V2Request<typeof v2Routes.readWorkspace>, 'caller' | 'includes'>

/** Returns workspaces as documents, with the included objects. */
function workspacesWithIncludes(
  context: GovernanceContext,
  request: IncludeRequest,
  workspaces: readonly VisibleWorkspace[],
): { readonly resources: readonly Resource[]; readonly included: readonly Resource[] | undefined } {
  const all = workspaces.map((visible) => {
    const tags = request.includes.has('effective_tag_bindings')
      ? workspaceEffectiveTags(context.store.tables, visible.workspace).map(
          effectiveTagBindingResource,
        )
      : undefined
    return {
      resource: workspaceResource(
        context,
        visible,
        tags?.map(({ id }) => id),
      ),
      included: [...relatedResources(context, request, visible), ...(tags ?? [])],
    }
  })
  return {
    resources: all.map(({ resource }) => resource),
    included: request.includes.size === 0 ? undefined : all.flatMap(({ included }) => included),
  }
}

/** Returns the objects related to a workspace; those the caller may not see are omitted. */
function relatedResources(
  context: GovernanceContext,
  { caller, includes }: IncludeRequest,
  visible: VisibleWorkspace,
): readonly Resource[] {
  const found: Resource[] = []
  if (includes.has('organization')) found.push(organizationResource(visible))
  if (includes.has('project')) {
    const project = findProject(context, caller, visible.project.id)
    if (project.ok) found.push(projectResource(context.store.tables, project.value))
  }
  const holder = includes.has('locked_by') ? visibleLockHolder(context, visible) : null
  if (holder?.byType === 'users') {
    const user = findPublicUser(context, holder.byId)
    if (user !== undefined) found.push(userResource(user))
  }
  if (holder?.byType === 'teams') {
    const team = findTeam(context, caller, holder.byId)
    if (team.ok) found.push(teamResource(context, team.value))
  }
  return [...found, ...includedRuns(context, { caller, includes }, visible)]
}

function includedRuns(
  context: GovernanceContext,
  { caller, includes }: IncludeRequest,
  { workspace }: VisibleWorkspace,
): readonly Resource[] {
  if (!includes.has('current_run') && !includes.has('latest_run')) return []
  const { currentRunId, latestRunId } = summarizeRuns(context.store.tables, workspace.id)
  const runIds = [
    includes.has('current_run') ? currentRunId : null,
    includes.has('latest_run') ? latestRunId : null,
  ]
  return runIds.flatMap((runId) => {
    if (runId === null) return []
    const run = findRun(context, caller, { runId, right: 'read' })
    return run.ok ? [runResource(context, run.value, caller.userId)] : []
  })
}
