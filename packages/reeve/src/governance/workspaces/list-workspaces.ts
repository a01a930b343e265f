import type { v2 } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { normalizeName, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { intersect, keysByCreation, type ListOrder, type ListPage } from '../list-index.ts'
import { ownerIdsWithTags, type TagFilter } from '../tags/tags.ts'
import { findOrganization } from '../authorization.ts'
import { locksForPlan } from '../runs/execution/queue.ts'
import { activeStatuses } from '../runs/run-status.ts'
import { currentState } from '../state-versions/state-versions.ts'
import {
  readableWorkspaceIds,
  toVisibleWorkspace,
  type VisibleWorkspace,
} from './find-workspace.ts'

export type WorkspaceOrder = ListOrder | 'changed' | '-changed' | 'current-run' | '-current-run'

interface WorkspaceSearch {
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

interface WorkspacePage {
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

/** Information about a workspace derived from its runs. */
interface WorkspaceRunSummary {
  /** The run that holds the lock, that is next, or that is the newest one. */
  readonly currentRunId: string | null
  readonly latestRunId: string | null
  /** Whether an unfinished run exists. */
  readonly isActive: boolean
  /** Number of resources in the current state; without a state, as of the last applied plan. */
  readonly resourceCount: number
  readonly policyCheckFailures: number
  readonly runFailures: number
}

export function summarizeRuns(tables: Tables, workspaceId: string): WorkspaceRunSummary {
  const count = (status: v2.RunStatus): number =>
    tables.runs.countByIndex('workspaceStatus', scopedKey(workspaceId, status))
  const [latestRunId = null] = newestRunIds(tables, 'workspace', workspaceId)
  return {
    currentRunId: findCurrentRun(tables, workspaceId) ?? null,
    latestRunId,
    isActive: activeStatuses().some((status) => count(status) > 0),
    resourceCount: countResources(tables, workspaceId),
    policyCheckFailures: tables.policy_checks.countByIndex('failed', workspaceId),
    runFailures: count('errored'),
  }
}

/**
 * Returns the run that holds the lock; without one, the run that is next in the queue, or else the
 * newest run that is not speculative. Clients that wait read from it what they wait for.
 */
function findCurrentRun(tables: Tables, workspaceId: string): string | undefined {
  const lock = tables.workspaces.find(workspaceId)?.lock ?? null
  if (lock?.byType === 'runs' && tables.runs.has(lock.byId)) return lock.byId
  const waiting = keysByCreation(tables.runs, 'workspaceStatus', scopedKey(workspaceId, 'pending'))
  const next = waiting.find((id) => {
    const run = tables.runs.get(id)
    return run.execution !== undefined && locksForPlan(run)
  })
  if (next !== undefined) return next
  return newestRunIds(tables, 'workspace', workspaceId).find((id) => !tables.runs.get(id).planOnly)
}

/** Returns the workspaces of an organization whose current run has one of these statuses. */
function workspaceIdsByRunStatus(
  tables: Tables,
  organizationId: string,
  statuses: readonly string[],
): ReadonlySet<string> {
  const { runs } = tables
  const found = new Set<string>()
  for (const status of statuses)
    for (const runId of runs.keysByIndex('status', status)) {
      // The index key contains the workspace, so the row is not decoded.
      const workspaceId = runs.indexKeyOf('workspace', runId)
      if (workspaceId === undefined || runs.indexKeyOf('organization', runId) !== organizationId)
        continue
      if (findCurrentRun(tables, workspaceId) === runId) found.add(workspaceId)
    }
  return found
}

/** Returns the workspaces of an organization that have a current run, the oldest run first. */
function workspaceIdsByCurrentRun(tables: Tables, organizationId: string): readonly string[] {
  const { runs, workspaces } = tables
  const ages = new Map<string, number>()
  for (const id of workspaces.keysByIndex('organization', organizationId)) {
    const runId = findCurrentRun(tables, id)
    if (runId !== undefined) ages.set(id, runs.createIndexOf(runId) ?? 0)
  }
  return [...ages].toSorted(([, a], [, b]) => a - b).map(([id]) => id)
}

/** Iterates without decoding rows, because a workspace may have many runs. */
function newestRunIds(
  { runs }: Tables,
  index: 'workspace' | 'workspaceStatus',
  group: string,
): readonly string[] {
  const createIndexOf = (id: string): number => runs.createIndexOf(id) ?? 0
  return [...runs.keysByIndex(index, group)].toSorted((a, b) => createIndexOf(b) - createIndexOf(a))
}

function countResources(tables: Tables, workspaceId: string): number {
  const state = currentState(tables, workspaceId)
  if (state !== undefined) return state.resourceCount
  const [applied] = newestRunIds(tables, 'workspaceStatus', scopedKey(workspaceId, 'applied'))
  if (applied === undefined) return 0
  return tables.run_plans.find(tables.runs.get(applied).planId)?.counts.resources ?? 0
}
