import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { normalizeName, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { intersect } from '../intersect.ts'
import type { ListOrder, ListPage } from '../list-index.ts'
import { ownerIdsWithTags, type TagFilter } from '../projects/find-tagged.ts'
import { findOrganization } from '../standing.ts'
import {
  readableWorkspaceIds,
  toVisibleWorkspace,
  type VisibleWorkspace,
} from './find-workspace.ts'
import { workspaceIdsByCurrentRun, workspaceIdsByRunStatus } from './workspace-runs.ts'

export type WorkspaceOrder = ListOrder | 'changed' | '-changed' | 'current-run' | '-current-run'

export interface WorkspaceSearch {
  readonly organizationName: string
  /** Substring of the name, ignoring case. */
  readonly nameContains?: string | undefined
  /** Name with `*` at its start, end or both. */
  readonly wildcard?: string | undefined
  readonly projectId?: string | undefined
  /** Effective tags, including inherited ones; all must match. */
  readonly tags: readonly TagFilter[]
  /** Tag keys that must be absent. */
  readonly excludedTagKeys: readonly string[]
  /** Allowed statuses of the current run. */
  readonly runStatuses?: readonly string[] | undefined
  readonly order: WorkspaceOrder
  readonly offset: number
  readonly limit: number
}

export interface WorkspacePage {
  readonly workspaces: readonly VisibleWorkspace[]
  readonly total: number
}

/** Lists workspaces; only those that the caller may read are returned or counted. */
export function listWorkspaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: WorkspaceSearch,
): Result<WorkspacePage, GovernanceRefusal> {
  const found = findOrganization(context, caller, request.organizationName)
  if (!found.ok) return found
  const { tables } = context.store
  const { id: organizationId } = found.value.organization
  const restrictTo = intersect([
    readableWorkspaceIds(context, found.value),
    matchingIds(context, organizationId, request),
  ])
  const page = pageInOrder(context, { wish: request, within: restrictTo, organizationId })
  return ok({
    workspaces: page.keys.map((id) =>
      toVisibleWorkspace(context, found.value, tables.workspaces.get(id)),
    ),
    total: page.total,
  })
}

/**
 * Returns the workspaces that match the filters, for any caller; undefined without filters. Cached
 * until one of these tables changes, because the next page has the same filters.
 */
function matchingIds(
  context: GovernanceContext,
  organizationId: string,
  request: WorkspaceSearch,
): ReadonlySet<string> | undefined {
  const { tables } = context.store
  const { projectId, wildcard, tags, excludedTagKeys, runStatuses } = request
  const key = JSON.stringify([
    organizationId,
    projectId,
    wildcard,
    tags,
    excludedTagKeys,
    runStatuses,
  ])
  const { workspaces, tag_bindings, runs } = tables
  const version = `${workspaces.lastIndex} ${tag_bindings.lastIndex} ${runs.lastIndex}`
  return context.workspaceFilters.getOrCompute(key, version, () =>
    intersect([
      projectId === undefined ? undefined : new Set(workspaces.keysByIndex('project', projectId)),
      wildcard === undefined
        ? undefined
        : idsByWildcard(context, organizationId, normalizeName(wildcard)),
      ...tags.map((filter) => workspaceIdsWithTag(tables, organizationId, filter)),
      runStatuses === undefined
        ? undefined
        : workspaceIdsByRunStatus(tables, organizationId, runStatuses),
      workspaceIdsWithoutTags(tables, organizationId, excludedTagKeys),
    ]),
  )
}

const NO_IDS: ReadonlySet<string> = new Set()

interface PageRequest {
  readonly wish: WorkspaceSearch
  readonly within: ReadonlySet<string> | undefined
  readonly organizationId: string
}

function pageInOrder(context: GovernanceContext, pageRequest: PageRequest): ListPage {
  const { lists } = context
  const { wish: request, within: restrictTo, organizationId: scope } = pageRequest
  const page = {
    scope,
    search: request.nameContains,
    restrictTo,
    skip: request.offset,
    take: request.limit,
  }
  switch (request.order) {
    case 'changed':
      return lists.changedWorkspaces.page({ ...page, order: 'name' })
    case '-changed':
      return lists.changedWorkspaces.page({ ...page, order: '-name' })
    case 'current-run':
    case '-current-run':
      return pageByCurrentRun(context, pageRequest)
    default:
      return lists.workspaces.page({ ...page, order: request.order })
  }
}

/** Workspaces without runs come last, newest first, in both directions. */
function pageByCurrentRun(
  { lists, store, runOrderCache }: GovernanceContext,
  pageRequest: PageRequest,
): ListPage {
  const { wish: request, within: restrictTo, organizationId } = pageRequest
  const { runs, workspaces } = store.tables
  const version = `${runs.lastIndex} ${workspaces.lastIndex}`
  const order = runOrderCache.getOrCompute(organizationId, version, () =>
    workspaceIdsByCurrentRun(store.tables, organizationId),
  )
  const all = {
    scope: organizationId,
    search: request.nameContains,
    restrictTo,
    skip: 0,
    take: Infinity,
  }
  const { keys, total } = lists.workspaces.page({ ...all, order: 'newest' })
  const withoutRun = new Set(keys)
  const withRun = (request.order === 'current-run' ? order : order.toReversed()).filter((id) =>
    withoutRun.delete(id),
  )
  return {
    keys: [...withRun, ...withoutRun].slice(request.offset, request.offset + request.limit),
    total,
  }
}

/** Returns workspaces by wildcard; a `*` inside the name is literal, so it matches nothing. */
function idsByWildcard(
  { lists, store }: GovernanceContext,
  organizationId: string,
  wildcard: string,
): ReadonlySet<string> {
  const { workspaces } = store.tables
  const isOpenBefore = wildcard.startsWith('*')
  const isOpenAfter = wildcard.length > 1 && wildcard.endsWith('*')
  const literal = wildcard.slice(isOpenBefore ? 1 : 0, isOpenAfter ? -1 : undefined)
  if (!isOpenBefore && !isOpenAfter)
    return new Set(workspaces.keysByIndex('name', scopedKey(organizationId, literal)))
  const all = { scope: organizationId, order: 'oldest', skip: 0, take: Infinity } as const
  const { keys } = lists.workspaces.page({ ...all, search: literal })
  if (isOpenBefore && isOpenAfter) return new Set(keys)
  const matches = (key: string): boolean => {
    // The index key contains the name, so the row is not decoded.
    const name = workspaces.indexKeyOf('name', key)?.slice(organizationId.length + 1) ?? ''
    return isOpenBefore ? name.endsWith(literal) : name.startsWith(literal)
  }
  return new Set(keys.filter(matches))
}

/** A workspace's own binding overrides that of its project. */
function workspaceIdsWithTag(
  tables: Tables,
  organizationId: string,
  filter: TagFilter,
): ReadonlySet<string> {
  const ofProjects = { organizationId, ownerType: 'project' } as const
  const ofWorkspaces = { organizationId, ownerType: 'workspace' } as const
  const found = new Set(ownerIdsWithTags(tables, ofWorkspaces, [filter]))
  const overriding =
    ownerIdsWithTags(tables, ofWorkspaces, [{ key: filter.key, value: '' }]) ?? NO_IDS
  for (const projectId of ownerIdsWithTags(tables, ofProjects, [filter]) ?? NO_IDS)
    for (const id of tables.workspaces.keysByIndex('project', projectId))
      if (!overriding.has(id)) found.add(id)
  return found
}

/** Returns all workspaces of the organization without these keys; undefined if none are given. */
function workspaceIdsWithoutTags(
  tables: Tables,
  organizationId: string,
  keys: readonly string[],
): ReadonlySet<string> | undefined {
  if (keys.length === 0) return undefined
  const remaining = new Set(tables.workspaces.keysByIndex('organization', organizationId))
  for (const key of keys)
    for (const id of workspaceIdsWithTag(tables, organizationId, { key, value: '' }))
      remaining.delete(id)
  return remaining
}
