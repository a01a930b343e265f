import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { normalizeName, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { intersect } from '../intersect.ts'
import type { ListOrder } from '../list-index.ts'
import type { ProjectRight } from '../permissions.ts'
import {
  findOrganization,
  projectIdsWithRights,
  projectRightsOf,
  type VisibleOrganization,
  type VisibleProject,
} from '../standing.ts'
import { ownerIdsWithTags, type TagFilter } from './find-tagged.ts'

export interface ProjectSearch {
  readonly organizationName: string
  /** Substring of the name; ignored if names are given. */
  readonly nameContains?: string | undefined
  readonly names?: readonly string[] | undefined
  readonly tags: readonly TagFilter[]
  /** Permissions that the caller must have besides read access. */
  readonly rights: readonly ProjectRight[]
  readonly order: ListOrder
  readonly offset: number
  readonly limit: number
}

export interface ProjectPage {
  readonly projects: readonly VisibleProject[]
  /** Number of matching projects. */
  readonly total: number
  /** Number of projects that the caller may read. */
  readonly readableCount: number
}

/** Lists projects; only those that the caller may read are returned or counted. */
export function listProjects(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: ProjectSearch,
): Result<ProjectPage, GovernanceRefusal> {
  const found = findOrganization(context, caller, request.organizationName)
  if (!found.ok) return found
  const { tables } = context.store
  const { id: organizationId } = found.value.organization
  const readable = projectIdsWithRights(context, found.value, ['read'])
  const restrictTo = intersect([
    request.rights.length === 0
      ? readable
      : projectIdsWithRights(context, found.value, ['read', ...request.rights]),
    request.names === undefined
      ? undefined
      : projectIdsByNames(context, organizationId, request.names),
    ownerIdsWithTags(tables, { organizationId, ownerType: 'project' }, request.tags),
  ])
  const page = context.lists.projects.page({
    scope: organizationId,
    order: request.order,
    search: request.names === undefined ? request.nameContains : undefined,
    restrictTo,
    skip: request.offset,
    take: request.limit,
  })
  return ok({
    projects: page.keys.map((id) => toVisibleProject(context, found.value, id)),
    total: page.total,
    readableCount: readable?.size ?? tables.projects.countByIndex('organization', organizationId),
  })
}

function toVisibleProject(
  context: GovernanceContext,
  visible: VisibleOrganization,
  id: string,
): VisibleProject {
  const project = context.store.tables.projects.get(id)
  return { ...visible, project, rights: projectRightsOf(context, visible, project) }
}

function projectIdsByNames(
  { store }: GovernanceContext,
  organizationId: string,
  names: readonly string[],
): ReadonlySet<string> {
  const group = (name: string): string => scopedKey(organizationId, normalizeName(name))
  return new Set(
    names.flatMap((name) => [...store.tables.projects.keysByIndex('name', group(name))]),
  )
}
