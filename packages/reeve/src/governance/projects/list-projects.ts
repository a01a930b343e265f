import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { foldName, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { intersect } from '../intersect.ts'
import type { ListOrder } from '../list-index.ts'
import type { ProjectRight } from '../permissions.ts'
import {
  findSeat,
  projectsWith,
  rightsOnProject,
  type Seat,
  type SeenProject,
} from '../standing.ts'
import { findTagged, type TagFilter } from './find-tagged.ts'

export interface ProjectSearch {
  readonly organizationName: string
  /** Ignored when names are given. */
  readonly part?: string | undefined
  readonly names?: readonly string[] | undefined
  readonly tags: readonly TagFilter[]
  /** Rights that the caller must have besides reading. */
  readonly rights: readonly ProjectRight[]
  readonly order: ListOrder
  readonly skip: number
  readonly take: number
}

export interface ProjectPart {
  readonly projects: readonly SeenProject[]
  /** That match. */
  readonly total: number
  /** That the caller may read. */
  readonly readable: number
}

/** Only what the caller may read is found or counted. */
export function listProjects(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: ProjectSearch,
): Result<ProjectPart, GovernanceRefusal> {
  const seat = findSeat(context, caller, wish.organizationName)
  if (!seat.ok) return seat
  const { tables } = context.store
  const { id: organizationId } = seat.value.organization
  const readable = projectsWith(context, seat.value, ['read'])
  const within = intersect([
    wish.rights.length === 0
      ? readable
      : projectsWith(context, seat.value, ['read', ...wish.rights]),
    wish.names === undefined ? undefined : namedProjects(context, organizationId, wish.names),
    findTagged(tables, { organizationId, ownerType: 'project' }, wish.tags),
  ])
  const part = context.lists.projects.page({
    scope: organizationId,
    order: wish.order,
    search: wish.names === undefined ? wish.part : undefined,
    within,
    skip: wish.skip,
    take: wish.take,
  })
  return ok({
    projects: part.keys.map((id) => seenProject(context, seat.value, id)),
    total: part.total,
    readable: readable?.size ?? tables.projects.countIn('organization', organizationId),
  })
}

function seenProject(context: GovernanceContext, seat: Seat, id: string): SeenProject {
  const project = context.store.tables.projects.get(id)
  return { ...seat, project, rights: rightsOnProject(context, seat, project) }
}

function namedProjects(
  { store }: GovernanceContext,
  organizationId: string,
  names: readonly string[],
): ReadonlySet<string> {
  const group = (name: string): string => scopedKey(organizationId, foldName(name))
  return new Set(names.flatMap((name) => [...store.tables.projects.keysIn('name', group(name))]))
}
