import { v2 } from '@reeve/contract'
import {
  findProject,
  findRun,
  findShownUser,
  findTeam,
  listWorkspaces,
  runsOf,
  shownHolder,
  workspaceEffectiveTags,
  type GovernanceContext,
  type SeenWorkspace,
  type WorkspaceOrder,
} from '../../governance/index.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { answer, paged, windowOf } from './documents.ts'
import { endpoint, type Resource, type V2Endpoint, type V2Request } from './endpoint.ts'
import { split, splitKnown } from './query.ts'
import { organizationResource } from './resources/organization.ts'
import { projectResource } from './resources/project.ts'
import { runResource } from './resources/run.ts'
import { effectiveTagBindingResource } from './resources/tag-binding.ts'
import { teamResource } from './resources/team.ts'
import { userResource } from './resources/user.ts'
import { workspaceResource } from './resources/workspace.ts'
import { tagFilters } from './tag-filters.ts'

const { v2Routes, WORKSPACE_INCLUDES } = v2

export function workspaceList(context: GovernanceContext): V2Endpoint {
  return endpoint(
    v2Routes.listWorkspaces,
    (request) => {
      const { caller, params, query, page } = request
      const tags = tagFilters(query)
      if (!tags.ok) return tags
      const runStatuses = runStatusesOf(query)
      if (!runStatuses.ok) return runStatuses
      const result = listWorkspaces(context, caller, {
        organizationName: params.organization_name,
        part: query['search[name]'],
        wildcard: query['search[wildcard-name]'],
        projectId: query['filter[project][id]'],
        tags: [...tags.value, ...keysOf(query['search[tags]']).map(anyValue)],
        withoutKeys: keysOf(query['search[exclude-tags]']),
        runStatuses: runStatuses.value,
        order: query.sort === undefined ? 'newest' : ORDERS[query.sort],
        ...windowOf(page),
      })
      return answer(result, ({ workspaces, total }) => {
        const { resources, included } = includedWorkspaces(context, request, workspaces)
        return paged(request, { items: resources, total, included })
      })
    },
    { includes: WORKSPACE_INCLUDES },
  )
}

type ListQuery = V2Request<typeof v2Routes.listWorkspaces>['query']
type Sort = NonNullable<ListQuery['sort']>

const ORDERS: Readonly<Record<Sort, WorkspaceOrder>> = {
  name: 'name',
  '-name': '-name',
  'latest-change-at': 'changed',
  '-latest-change-at': '-changed',
  'current-run.created-at': 'current-run',
  '-current-run.created-at': '-current-run',
}

function keysOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : split(text)
}

function anyValue(key: string) {
  return { key, value: '' }
}

function runStatusesOf(query: ListQuery): Result<readonly string[] | undefined, GovernanceRefusal> {
  const name = 'filter[current-run][status]'
  const text = query[name]
  return text === undefined ? ok(undefined) : splitKnown(name, text, v2.RUN_STATUSES)
}

type Including = Pick<V2Request<typeof v2Routes.readWorkspace>, 'caller' | 'includes'>

/** Returns workspaces as documents, with the included objects. */
export function includedWorkspaces(
  context: GovernanceContext,
  request: Including,
  workspaces: readonly SeenWorkspace[],
): { readonly resources: readonly Resource[]; readonly included: readonly Resource[] | undefined } {
  const all = workspaces.map((seen) => {
    const tags = request.includes.has('effective_tag_bindings')
      ? workspaceEffectiveTags(context.store.tables, seen.workspace).map(
          effectiveTagBindingResource,
        )
      : undefined
    return {
      resource: workspaceResource(
        context,
        seen,
        tags?.map(({ id }) => id),
      ),
      included: [...relatedTo(context, request, seen), ...(tags ?? [])],
    }
  })
  return {
    resources: all.map(({ resource }) => resource),
    included: request.includes.size === 0 ? undefined : all.flatMap(({ included }) => included),
  }
}

/** Returns the objects related to a workspace; those the caller may not see are omitted. */
function relatedTo(
  context: GovernanceContext,
  { caller, includes }: Including,
  seen: SeenWorkspace,
): readonly Resource[] {
  const found: Resource[] = []
  if (includes.has('organization')) found.push(organizationResource(seen))
  if (includes.has('project')) {
    const project = findProject(context, caller, seen.project.id)
    if (project.ok) found.push(projectResource(context.store.tables, project.value))
  }
  const holder = includes.has('locked_by') ? shownHolder(context, seen) : null
  if (holder?.byType === 'users') {
    const user = findShownUser(context, holder.byId)
    if (user !== undefined) found.push(userResource(user))
  }
  if (holder?.byType === 'teams') {
    const team = findTeam(context, caller, holder.byId)
    if (team.ok) found.push(teamResource(context, team.value))
  }
  return [...found, ...runsIncluded(context, { caller, includes }, seen)]
}

function runsIncluded(
  context: GovernanceContext,
  { caller, includes }: Including,
  { workspace }: SeenWorkspace,
): readonly Resource[] {
  if (!includes.has('current_run') && !includes.has('latest_run')) return []
  const { currentRunId, latestRunId } = runsOf(context.store.tables, workspace.id)
  const wanted = [
    includes.has('current_run') ? currentRunId : null,
    includes.has('latest_run') ? latestRunId : null,
  ]
  return wanted.flatMap((runId) => {
    if (runId === null) return []
    const run = findRun(context, caller, { runId, right: 'read' })
    return run.ok ? [runResource(context, run.value, caller.userId)] : []
  })
}
