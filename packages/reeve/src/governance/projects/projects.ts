import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type ProjectRow,
} from '../../model/index.ts'
import { foldName, put, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { organizationPermissions } from '../permissions.ts'
import {
  findChangeableProject,
  findProject,
  findSeat,
  rightsOnProject,
  type Seat,
  type SeenProject,
} from '../standing.ts'
import { inheritDuration } from './auto-destroy.ts'
import { projectEnd } from './project-end.ts'
import { mayReleaseNamespaces, NOT_RELEASED } from './project-namespaces.ts'
import { mayBind, planTags, tagProblems, type NewTags } from './tags.ts'

const TAGS_POINTER = '/data/relationships/tag-bindings/data'

/** Returns the organization if the caller may create projects in it. */
export function findProjectMaker(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<Seat, GovernanceRefusal> {
  const seat = findSeat(context, caller, organizationName)
  if (!seat.ok) return seat
  return organizationPermissions(seat.value.standing)['can-create-project'] ? seat : err(UNSEEN)
}

/** Creates a project with its tags, atomically. */
export async function createProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.ProjectCreateRequest['data']
  },
): Promise<Result<SeenProject, GovernanceRefusal>> {
  const seat = findProjectMaker(context, caller, request.organizationName)
  if (!seat.ok) return seat
  const { attributes, relationships } = request.data
  const { organization } = seat.value
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
  const owner = tagOwner(project)
  await commitWrite(context, {
    action: 'ProjectCreated',
    caller,
    organizationId: organization.id,
    subjects: [project.id],
    changes: [
      put('projects', project),
      ...planTags(context, owner, { tags, isWholeSet: true }).changes,
    ],
  })
  return ok({ ...seat.value, project, rights: rightsOnProject(context, seat.value, project) })
}

/** Returns the owner of a project's tags. */
export function tagOwner({ id, organizationId }: ProjectRow) {
  return { ownerType: 'project', ownerId: id, organizationId } as const
}

interface ProjectWish {
  readonly organizationId: string
  /** ID of an existing project; undefined for a new one. */
  readonly projectId?: string
  readonly attributes: NonNullable<v2.ProjectUpdateRequest['data']['attributes']>
  readonly tags: NewTags
}

function projectProblems(
  { store }: GovernanceContext,
  { organizationId, projectId, attributes, tags }: ProjectWish,
): readonly AttributeProblem[] {
  const { name } = attributes
  const group = scopedKey(organizationId, foldName(name ?? ''))
  const [taken] = name === undefined ? [] : store.tables.projects.keysIn('name', group)
  const nameProblem = { pointer: '/data/attributes/name', detail: 'Name has already been taken' }
  return [
    ...(taken === undefined || taken === projectId ? [] : [nameProblem]),
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
): Promise<Result<SeenProject, GovernanceRefusal>> {
  const seen = findChangeableProject(context, caller, request.projectId)
  if (!seen.ok) return seen
  const { project: before, rights } = seen.value
  const { attributes = {}, relationships } = request.data
  const given = relationships?.['tag-bindings']?.data
  const { organizationId, id: projectId } = before
  if (given !== undefined && !mayBind(context.store.tables, projectId, { tags: given, rights }))
    return err(UNSEEN)
  const wish = { organizationId, projectId, attributes, tags: given ?? [] }
  const problems = projectProblems(context, wish)
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const project = changed(before, attributes)
  const tags =
    given === undefined
      ? []
      : planTags(context, tagOwner(before), { tags: given, isWholeSet: true }).changes
  const duration = project.autoDestroyActivityDuration
  const isNewDuration = duration !== before.autoDestroyActivityDuration
  await commitWrite(context, {
    action: 'ProjectUpdated',
    caller,
    organizationId,
    subjects: [projectId],
    changes: [
      ...(isEqual(before, project) ? [] : [put('projects', project)]),
      ...tags,
      ...(isNewDuration ? inheritDuration(context, project) : []),
    ],
  })
  return ok({ ...seen.value, project })
}

function changed(
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
  const seen = findProject(context, caller, projectId)
  if (!seen.ok) return seen
  const { rights, project } = seen.value
  if (!rights.destroy) return err(UNSEEN)
  if (force && !rights.forceDestroy)
    return err({ code: 'forbidden', detail: 'Not authorized to force-delete the project.' })
  if (project.isDefault)
    return err({ code: 'unprocessable', detail: 'The default project cannot be deleted.' })
  const { tables } = context.store
  const namespaces = tables.project_namespaces.countIn('project', projectId)
  if (force && namespaces > 0 && !mayReleaseNamespaces(context, caller, seen.value.standing))
    return err(NOT_RELEASED)
  const details = force ? [] : contents(tables.workspaces.countIn('project', projectId), namespaces)
  if (details.length > 0)
    return err({
      code: 'invalid',
      problems: details.map((detail) => ({ pointer: '/data', detail })),
      reason: 'project-not-empty',
    })
  await commitWrite(context, {
    action: 'ProjectDeleted',
    caller,
    organizationId: project.organizationId,
    subjects: [projectId],
    changes: projectEnd(tables, projectId),
  })
  return ok(undefined)
}

function contents(workspaces: number, namespaces: number): readonly string[] {
  return [
    ...(workspaces > 0
      ? [`Project contains ${workspaces} workspace(s); move or delete them first`]
      : []),
    ...(namespaces > 0 ? [`Project contains ${namespaces} namespace(s); remove them first`] : []),
  ]
}
