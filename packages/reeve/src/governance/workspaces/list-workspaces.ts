import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { foldName, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { intersect } from '../intersect.ts'
import type { ListOrder, ListPart } from '../list-index.ts'
import { findTagged, type TagFilter } from '../projects/find-tagged.ts'
import { findSeat } from '../standing.ts'
import { readableWorkspaces, seenWorkspace, type SeenWorkspace } from './find-workspace.ts'
import { byCurrentRun, workspacesInStatus } from './workspace-runs.ts'

export type WorkspaceOrder = ListOrder | 'changed' | '-changed' | 'current-run' | '-current-run'

export interface WorkspaceSearch {
  readonly organizationName: string
  /** Substring of the name, ignoring case. */
  readonly part?: string | undefined
  /** Name with `*` at its start, end or both. */
  readonly wildcard?: string | undefined
  readonly projectId?: string | undefined
  /** Effective tags, including inherited ones; all must match. */
  readonly tags: readonly TagFilter[]
  /** Tag keys that must be absent. */
  readonly withoutKeys: readonly string[]
  /** Allowed statuses of the current run. */
  readonly runStatuses?: readonly string[] | undefined
  readonly order: WorkspaceOrder
  readonly skip: number
  readonly take: number
}

export interface WorkspacePart {
  readonly workspaces: readonly SeenWorkspace[]
  readonly total: number
}

/** Lists workspaces; only those that the caller may read are returned or counted. */
export function listWorkspaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: WorkspaceSearch,
): Result<WorkspacePart, GovernanceRefusal> {
  const seat = findSeat(context, caller, wish.organizationName)
  if (!seat.ok) return seat
  const { tables } = context.store
  const { id: organizationId } = seat.value.organization
  const within = intersect([
    readableWorkspaces(context, seat.value),
    filtered(context, organizationId, wish),
  ])
  const part = pageOf(context, { wish, within, organizationId })
  return ok({
    workspaces: part.keys.map((id) =>
      seenWorkspace(context, seat.value, tables.workspaces.get(id)),
    ),
    total: part.total,
  })
}

/**
 * Returns the workspaces that match the filters, for any caller; undefined without filters. Cached
 * until one of these tables changes, because the next page has the same filters.
 */
function filtered(
  context: GovernanceContext,
  organizationId: string,
  wish: WorkspaceSearch,
): ReadonlySet<string> | undefined {
  const { tables } = context.store
  const { projectId, wildcard, tags, withoutKeys, runStatuses } = wish
  const key = JSON.stringify([organizationId, projectId, wildcard, tags, withoutKeys, runStatuses])
  const { workspaces, tag_bindings, runs } = tables
  const version = `${workspaces.lastIndex} ${tag_bindings.lastIndex} ${runs.lastIndex}`
  return context.workspaceFilters.find(key, version, () =>
    intersect([
      projectId === undefined ? undefined : new Set(workspaces.keysIn('project', projectId)),
      wildcard === undefined ? undefined : namedLike(context, organizationId, foldName(wildcard)),
      ...tags.map((filter) => effectivelyTagged(tables, organizationId, filter)),
      runStatuses === undefined
        ? undefined
        : workspacesInStatus(tables, organizationId, runStatuses),
      withoutTags(tables, organizationId, withoutKeys),
    ]),
  )
}

const NOTHING: ReadonlySet<string> = new Set()

interface Found {
  readonly wish: WorkspaceSearch
  readonly within: ReadonlySet<string> | undefined
  readonly organizationId: string
}

function pageOf(context: GovernanceContext, found: Found): ListPart {
  const { lists } = context
  const { wish, within, organizationId: scope } = found
  const page = { scope, search: wish.part, within, skip: wish.skip, take: wish.take }
  switch (wish.order) {
    case 'changed':
      return lists.changedWorkspaces.page({ ...page, order: 'name' })
    case '-changed':
      return lists.changedWorkspaces.page({ ...page, order: '-name' })
    case 'current-run':
    case '-current-run':
      return pageByRun(context, found)
    default:
      return lists.workspaces.page({ ...page, order: wish.order })
  }
}

/** Workspaces without runs come last, newest first, in both directions. */
function pageByRun({ lists, store, runOrders }: GovernanceContext, found: Found): ListPart {
  const { wish, within, organizationId } = found
  const { runs, workspaces } = store.tables
  const version = `${runs.lastIndex} ${workspaces.lastIndex}`
  const order = runOrders.find(organizationId, version, () =>
    byCurrentRun(store.tables, organizationId),
  )
  const all = { scope: organizationId, search: wish.part, within, skip: 0, take: Infinity }
  const { keys, total } = lists.workspaces.page({ ...all, order: 'newest' })
  const left = new Set(keys)
  const ran = (wish.order === 'current-run' ? order : order.toReversed()).filter((id) =>
    left.delete(id),
  )
  return { keys: [...ran, ...left].slice(wish.skip, wish.skip + wish.take), total }
}

/** Returns workspaces by wildcard; a `*` inside the name is literal, so it matches nothing. */
function namedLike(
  { lists, store }: GovernanceContext,
  organizationId: string,
  wildcard: string,
): ReadonlySet<string> {
  const { workspaces } = store.tables
  const isOpenBefore = wildcard.startsWith('*')
  const isOpenAfter = wildcard.length > 1 && wildcard.endsWith('*')
  const core = wildcard.slice(isOpenBefore ? 1 : 0, isOpenAfter ? -1 : undefined)
  if (!isOpenBefore && !isOpenAfter)
    return new Set(workspaces.keysIn('name', scopedKey(organizationId, core)))
  const all = { scope: organizationId, order: 'oldest', skip: 0, take: Infinity } as const
  const { keys } = lists.workspaces.page({ ...all, search: core })
  if (isOpenBefore && isOpenAfter) return new Set(keys)
  const fits = (key: string): boolean => {
    // The index key contains the name, so the row is not decoded.
    const name = workspaces.groupOf('name', key)?.slice(organizationId.length + 1) ?? ''
    return isOpenBefore ? name.endsWith(core) : name.startsWith(core)
  }
  return new Set(keys.filter(fits))
}

/** A workspace's own binding overrides that of its project. */
function effectivelyTagged(
  tables: Tables,
  organizationId: string,
  filter: TagFilter,
): ReadonlySet<string> {
  const ofProjects = { organizationId, ownerType: 'project' } as const
  const ofWorkspaces = { organizationId, ownerType: 'workspace' } as const
  const found = new Set(findTagged(tables, ofWorkspaces, [filter]))
  const hiding = findTagged(tables, ofWorkspaces, [{ key: filter.key, value: '' }]) ?? NOTHING
  for (const projectId of findTagged(tables, ofProjects, [filter]) ?? NOTHING)
    for (const id of tables.workspaces.keysIn('project', projectId))
      if (!hiding.has(id)) found.add(id)
  return found
}

/** Returns all workspaces of the organization without these keys; undefined if none are given. */
function withoutTags(
  tables: Tables,
  organizationId: string,
  keys: readonly string[],
): ReadonlySet<string> | undefined {
  if (keys.length === 0) return undefined
  const left = new Set(tables.workspaces.keysIn('organization', organizationId))
  for (const key of keys)
    for (const id of effectivelyTagged(tables, organizationId, { key, value: '' })) left.delete(id)
  return left
}
