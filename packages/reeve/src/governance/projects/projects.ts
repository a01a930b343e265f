import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type ProjectRow,
  type TagBindingRow,
} from '../../model/index.ts'
import { normalizeName, put, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { organizationPermissions, type ProjectRight } from '../permissions.ts'
import {
  findUpdatableProject,
  findProject,
  findOrganization,
  projectRightsOf,
  type VisibleOrganization,
  type VisibleProject,
  projectIdsWithRights,
} from '../authorization.ts'
import { inheritAutoDestroyChanges } from '../workspaces/auto-destroy.ts'
import { deleteProjectChanges } from '../cascade.ts'
import { intersect, type ListOrder } from '../list-index.ts'
import { mayUnassignNamespaces, UNASSIGN_FORBIDDEN } from './project-namespaces.ts'
import {
  canSetTags,
  computeTagChanges,
  tagProblems,
  type NewTags,
  ownerIdsWithTags,
  type TagFilter,
} from '../tags/tags.ts'

const TAGS_POINTER = '/data/relationships/tag-bindings/data'

/** Returns the organization if the caller may create projects in it. */
export function findOrganizationForNewProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const found = findOrganization(context, caller, organizationName)
  if (!found.ok) return found
  return organizationPermissions(found.value.role)['can-create-project'] ? found : err(NOT_FOUND)
}

/** Creates a project with its tags, atomically. */
export async function createProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.ProjectCreateRequest['data']
  },
): Promise<Result<VisibleProject, GovernanceRefusal>> {
  const found = findOrganizationForNewProject(context, caller, request.organizationName)
  if (!found.ok) return found
  const { attributes, relationships } = request.data
  const { organization } = found.value
  const tags = relationships?.['tag-bindings']?.data ?? []
  const problems = projectProblems(context, { organizationId: organization.id, attributes, tags })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const project: ProjectRow = {
    id: newId(context.ids, 'projects'),
    organizationId: organization.id,
    name: attributes.name,
    description: attributes.description || null,
    autoDestroyActivityDuration: attributes['auto-destroy-activity-duration'] ?? null,
    isDefault: false,
    createdMs: context.clock.nowMs(),
  }
  const owner = projectTagOwner(project)
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [project.id],
    changes: [
      put('projects', project),
      ...computeTagChanges(context, owner, { tags, isWholeSet: true }).changes,
    ],
  })
  return ok({ ...found.value, project, rights: projectRightsOf(context, found.value, project) })
}

/** Returns the owner of a project's tags. */
function projectTagOwner({ id, organizationId }: ProjectRow) {
  return { ownerType: 'project', ownerId: id, organizationId } as const
}

interface ProjectInput {
  readonly organizationId: string
  /** ID of an existing project; undefined for a new one. */
  readonly projectId?: string
  readonly attributes: NonNullable<v2.ProjectUpdateRequest['data']['attributes']>
  readonly tags: NewTags
}

function projectProblems(
  { store }: GovernanceContext,
  { organizationId, projectId, attributes, tags }: ProjectInput,
): readonly AttributeProblem[] {
  const { name } = attributes
  const group = scopedKey(organizationId, normalizeName(name ?? ''))
  const [existingId] = name === undefined ? [] : store.tables.projects.keysByIndex('name', group)
  const nameProblem = { pointer: '/data/attributes/name', detail: 'Name has already been taken' }
  return [
    ...(existingId === undefined || existingId === projectId ? [] : [nameProblem]),
    ...tagProblems(
      store.tables,
      { ownerId: projectId },
      { tags, isWholeSet: true, pointer: TAGS_POINTER },
    ),
  ]
}

/**
 * Updates a project. Omitted attributes are unchanged; tag bindings, if present, replace the whole
 * set; a new duration is applied to the workspaces in the same commit.
 */
export async function updateProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly projectId: string; readonly data: v2.ProjectUpdateRequest['data'] },
): Promise<Result<VisibleProject, GovernanceRefusal>> {
  const found = findUpdatableProject(context, caller, request.projectId)
  if (!found.ok) return found
  const { project: before, rights } = found.value
  const { attributes = {}, relationships } = request.data
  const requestedTags = relationships?.['tag-bindings']?.data
  const { organizationId, id: projectId } = before
  if (
    requestedTags !== undefined &&
    !canSetTags(context.store.tables, projectId, { tags: requestedTags, rights })
  )
    return err(NOT_FOUND)
  const input = { organizationId, projectId, attributes, tags: requestedTags ?? [] }
  const problems = projectProblems(context, input)
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const project = applyAttributes(before, attributes)
  const tags =
    requestedTags === undefined
      ? []
      : computeTagChanges(context, projectTagOwner(before), {
          tags: requestedTags,
          isWholeSet: true,
        }).changes
  const duration = project.autoDestroyActivityDuration
  const isNewDuration = duration !== before.autoDestroyActivityDuration
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [projectId],
    changes: [
      ...(isEqual(before, project) ? [] : [put('projects', project)]),
      ...tags,
      ...(isNewDuration ? inheritAutoDestroyChanges(context, project) : []),
    ],
  })
  return ok({ ...found.value, project })
}

function applyAttributes(
  before: ProjectRow,
  attributes: NonNullable<v2.ProjectUpdateRequest['data']['attributes']>,
): ProjectRow {
  const { name, description } = attributes
  const duration = attributes['auto-destroy-activity-duration']
  return {
    ...before,
    name: name ?? before.name,
    // `""` is stored as null.
    description: description === undefined ? before.description : description || null,
    autoDestroyActivityDuration:
      duration === undefined ? before.autoDestroyActivityDuration : duration,
  }
}

/**
 * Deletes a project. If it has workspaces or namespaces, this requires force. A caller without
 * permission to force gets 403 rather than 404, because it can see the project.
 */
export async function deleteProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, force }: { readonly projectId: string; readonly force: boolean },
): Promise<Result<void, GovernanceRefusal>> {
  const found = findProject(context, caller, projectId)
  if (!found.ok) return found
  const { rights, project } = found.value
  if (!rights.destroy) return err(NOT_FOUND)
  if (force && !rights.forceDestroy)
    return err({ code: 'forbidden', detail: 'Not authorized to force-delete the project.' })
  if (project.isDefault)
    return err({ code: 'unprocessable', detail: 'The default project cannot be deleted.' })
  const { tables } = context.store
  const namespaces = tables.project_namespaces.countByIndex('project', projectId)
  if (force && namespaces > 0 && !mayUnassignNamespaces(context, caller, found.value.role))
    return err(UNASSIGN_FORBIDDEN)
  const details = force
    ? []
    : contentsProblems(tables.workspaces.countByIndex('project', projectId), namespaces)
  if (details.length > 0)
    return err({
      code: 'invalid',
      problems: details.map((detail) => ({ pointer: '/data', detail })),
      reason: 'project-not-empty',
    })
  await commitWrite(context, {
    caller,
    organizationId: project.organizationId,
    affectedIds: [projectId],
    changes: deleteProjectChanges(tables, projectId),
  })
  return ok(undefined)
}

function contentsProblems(workspaces: number, namespaces: number): readonly string[] {
  return [
    ...(workspaces > 0
      ? [`Project contains ${workspaces} workspace(s); move or delete them first`]
      : []),
    ...(namespaces > 0 ? [`Project contains ${namespaces} namespace(s); remove them first`] : []),
  ]
}

interface ProjectSearch {
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

interface ProjectPage {
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

/** Returns the project if the caller may change its tags in this way. */
export function findTaggableProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, isWholeSet }: { readonly projectId: string; readonly isWholeSet: boolean },
): Result<VisibleProject, GovernanceRefusal> {
  const found = findProject(context, caller, projectId)
  if (!found.ok) return found
  const { manageTags, replaceTags } = found.value.rights
  // Permission to add tags does not include permission to remove them.
  return (isWholeSet ? replaceTags : manageTags) ? found : err(NOT_FOUND)
}

/**
 * Adds tag bindings; with `isWholeSet` replaces all. Returns the bindings of the request, in order.
 */
export async function changeProjectTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly projectId: string; readonly tags: NewTags; readonly isWholeSet: boolean },
): Promise<Result<readonly TagBindingRow[], GovernanceRefusal>> {
  const found = findTaggableProject(context, caller, request)
  if (!found.ok) return found
  const { project } = found.value
  const problems = tagProblems(
    context.store.tables,
    { ownerId: project.id },
    { ...request, pointer: '/data' },
  )
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const { requested, changes } = computeTagChanges(context, projectTagOwner(project), request)
  await commitWrite(context, {
    caller,
    organizationId: project.organizationId,
    affectedIds: [project.id],
    changes,
  })
  return ok(requested)
}
