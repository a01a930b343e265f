import { v2 } from '@reeve/contract'
import {
  findProject,
  findRun,
  findPublicUser,
  findTeam,
  listWorkspaces,
  summarizeRuns,
  visibleLockHolder,
  workspaceEffectiveTags,
  type GovernanceContext,
  type VisibleWorkspace,
  type WorkspaceOrder,
} from '../../governance/index.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { mapResult, pageDocument, offsetAndLimit } from './documents.ts'
import { endpoint, type Resource, type V2Endpoint, type V2Request } from './endpoint.ts'
import { splitList, splitEnum } from './query.ts'
import { organizationResource } from './resources/organization.ts'
import { projectResource } from './resources/project.ts'
import { runResource } from './resources/run.ts'
import { effectiveTagBindingResource } from './resources/tag-binding.ts'
import { teamResource } from './resources/team.ts'
import { userResource } from './resources/user.ts'
import { workspaceResource } from './resources/workspace.ts'
import { parseTagFilters } from './tag-filters.ts'

const { v2Routes, WORKSPACE_INCLUDES } = v2

export function listWorkspacesEndpoint(context: GovernanceContext): V2Endpoint {
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
export function workspacesWithIncludes(
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
