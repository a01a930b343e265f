import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type ProjectRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { normalizeName, put, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { moveToProject, moveAccessChanges } from '../projects/move-workspaces.ts'
import { canSetTags, computeTagChanges } from '../projects/tags.ts'
import {
  findProject,
  findOrganization,
  projectIdsWithRights,
  projectRightsOf,
  type VisibleOrganization,
} from '../standing.ts'
import {
  findWorkspaceWith,
  toVisibleWorkspace,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from './find-workspace.ts'
import { resolveSettings } from './settings.ts'
import { toFlatBinding, workspaceTagOwner, workspaceTagProblems } from './workspace-tags.ts'

const TAGS_POINTER = '/data/relationships/tag-bindings/data'

/** A written workspace, with notices about side effects. */
export interface WorkspaceWriteResult {
  readonly visible: VisibleWorkspace
  readonly notices: readonly string[]
}

/** Returns the organization if the caller may create workspaces anywhere in it. */
export function findOrganizationForNewWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const found = findOrganization(context, caller, organizationName)
  if (!found.ok) return found
  const creatableProjects = projectIdsWithRights(context, found.value, ['read', 'createWorkspace'])
  return creatableProjects?.size === 0 ? err(NOT_FOUND) : found
}

/** Creates a workspace; the default project is used if none is given. */
export async function createWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.WorkspaceCreateRequest['data']
  },
): Promise<Result<WorkspaceWriteResult, GovernanceRefusal>> {
  const found = findOrganizationForNewWorkspace(context, caller, request.organizationName)
  if (!found.ok) return found
  const { attributes, relationships } = request.data
  const project = findTargetProject(context, caller, {
    visible: found.value,
    projectId: relationships?.project?.data.id ?? found.value.organization.defaultProjectId,
  })
  if (!project.ok) return project
  if (!projectRightsOf(context, found.value, project.value).createWorkspace) return err(NOT_FOUND)
  const blank = newWorkspace(context, found.value, project.value)
  const resolved = resolveSettings(
    {
      ...blank,
      sourceName: attributes['source-name'] || null,
      sourceUrl: attributes['source-url'] || null,
    },
    attributes,
    project.value,
  )
  const { workspace, notices } = resolved
  const tags = requestedBindings(relationships)
  const tagChange = { tags, isWholeSet: true, pointer: TAGS_POINTER }
  const problems = [
    ...nameProblems(context, workspace),
    ...resolved.problems,
    ...workspaceTagProblems(context.store.tables, workspace, tagChange),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    action: 'WorkspaceCreated',
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [workspace.id],
    changes: [
      put('workspaces', workspace),
      ...computeTagChanges(context, workspaceTagOwner(workspace), tagChange).changes,
    ],
  })
  return ok({ visible: toVisibleWorkspace(context, found.value, workspace), notices })
}

/** Returns the bindings of a request; a flat tag is a binding without a value. */
function requestedBindings(
  relationships: v2.WorkspaceCreateRequest['data']['relationships'],
): readonly v2.NewTagBinding[] {
  const bindings = relationships?.['tag-bindings']?.data ?? []
  const keys = new Set(bindings.map(({ attributes }) => attributes.key))
  const flat = (relationships?.tags?.data ?? []).filter(
    ({ attributes }) => !keys.has(attributes.name),
  )
  return [...bindings, ...flat.map(({ attributes }) => toFlatBinding(attributes.name))]
}

/**
 * Returns the project in a request. An invisible project is reported like an unknown one, so that
 * existing IDs are not revealed.
 */
function findTargetProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible, projectId }: { readonly visible: VisibleOrganization; readonly projectId: string },
): Result<ProjectRow, GovernanceRefusal> {
  const found = findProject(context, caller, projectId)
  if (found.ok && found.value.organization.id === visible.organization.id)
    return ok(found.value.project)
  const pointer = '/data/relationships/project/data'
  return err({ code: 'invalid', problems: [{ pointer, detail: 'Project does not exist' }] })
}

function newWorkspace(
  { clock, ids }: GovernanceContext,
  { organization }: VisibleOrganization,
  project: ProjectRow,
): WorkspaceRow {
  const nowMs = clock.nowMs()
  return {
    id: newId(ids, 'workspaces'),
    organizationId: organization.id,
    projectId: project.id,
    name: '',
    description: null,
    createdMs: nowMs,
    updatedMs: nowMs,
    latestChangeMs: nowMs,
    lock: null,
    executionMode: organization.defaultExecutionMode,
    overwritesExecutionMode: false,
    autoApply: false,
    autoDestroyAtMs: null,
    autoDestroyActivityDuration: null,
    autoDestroyStatus: null,
    inheritsProjectAutoDestroy: true,
    source: 'api',
    sourceName: null,
    sourceUrl: null,
    workingDirectory: null,
    toolVersion: null,
  }
}

/** Names are unique in the organization, not only in the project. */
function nameProblems(
  { store }: GovernanceContext,
  { id, organizationId, name }: WorkspaceRow,
): readonly AttributeProblem[] {
  const [existingId] = store.tables.workspaces.keysByIndex(
    'name',
    scopedKey(organizationId, normalizeName(name)),
  )
  if (existingId === undefined || existingId === id) return []
  return [{ pointer: '/data/attributes/name', detail: 'Name has already been taken' }]
}

export interface WorkspaceUpdate {
  readonly address: WorkspaceAddress
  readonly data: v2.WorkspaceUpdateRequest['data']
}

/**
 * Updates a workspace. A different project moves it, which requires permission on both projects;
 * tag bindings, if present, replace the whole set.
 */
export async function updateWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { address, data }: WorkspaceUpdate,
): Promise<Result<WorkspaceWriteResult, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address, right: 'update' })
  if (!found.ok) return found
  const { workspace: before, rights } = found.value
  const { tables } = context.store
  const tags = data.relationships?.['tag-bindings']?.data
  if (tags !== undefined && !canSetTags(tables, before.id, { tags, rights })) return err(NOT_FOUND)
  const project = findRequestedProject(context, caller, { from: found.value, data })
  if (!project.ok) return project
  const resolved = resolveSettings(
    moveToProject(before, project.value),
    data.attributes ?? {},
    project.value,
  )
  const tagChange = { tags: tags ?? [], isWholeSet: true, pointer: TAGS_POINTER }
  const problems = [
    ...nameProblems(context, resolved.workspace),
    ...resolved.problems,
    ...workspaceTagProblems(tables, resolved.workspace, tagChange),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const isSame = isEqual(before, resolved.workspace)
  const workspace = isSame ? before : { ...resolved.workspace, updatedMs: context.clock.nowMs() }
  const owner = workspaceTagOwner(workspace)
  await commitWrite(context, {
    action: workspace.projectId === before.projectId ? 'WorkspaceUpdated' : 'WorkspaceMoved',
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [workspace.id],
    changes: [
      ...(isSame ? [] : [put('workspaces', workspace), ...moveAccessChanges(context, workspace)]),
      ...(tags === undefined ? [] : computeTagChanges(context, owner, tagChange).changes),
    ],
  })
  return ok({
    visible: toVisibleWorkspace(context, found.value, workspace),
    notices: resolved.notices,
  })
}

/** Returns the destination project; the current one if the request names none. */
function findRequestedProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { from, data }: { readonly from: VisibleWorkspace; readonly data: WorkspaceUpdate['data'] },
): Result<ProjectRow, GovernanceRefusal> {
  const projectId = data.relationships?.project?.data.id
  if (projectId === undefined || projectId === from.project.id) return ok(from.project)
  const project = findTargetProject(context, caller, { visible: from, projectId })
  if (!project.ok) return project
  const mayMove = [from.project, project.value].every(
    (one) => projectRightsOf(context, from, one).moveWorkspace,
  )
  return mayMove ? project : err(NOT_FOUND)
}
