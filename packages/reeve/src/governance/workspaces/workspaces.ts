import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type ProjectRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { foldName, put, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { inProject, movedAccesses } from '../projects/move-workspaces.ts'
import { mayBind, planTags } from '../projects/tags.ts'
import { findProject, findSeat, projectsWith, rightsOnProject, type Seat } from '../standing.ts'
import {
  findWorkspaceWith,
  seenWorkspace,
  type SeenWorkspace,
  type WorkspaceAddress,
} from './find-workspace.ts'
import { planSettings } from './settings.ts'
import { flatBinding, workspaceTagOwner, workspaceTagProblems } from './workspace-tags.ts'

const TAGS_POINTER = '/data/relationships/tag-bindings/data'

/** A written workspace, with notices about side effects. */
export interface WrittenWorkspace {
  readonly seen: SeenWorkspace
  readonly notices: readonly string[]
}

/** Returns the organization if the caller may create workspaces anywhere in it. */
export function findWorkspaceMaker(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<Seat, GovernanceRefusal> {
  const seat = findSeat(context, caller, organizationName)
  if (!seat.ok) return seat
  const places = projectsWith(context, seat.value, ['read', 'createWorkspace'])
  return places?.size === 0 ? err(UNSEEN) : seat
}

/** Creates a workspace; the default project is used if none is given. */
export async function createWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.WorkspaceCreateRequest['data']
  },
): Promise<Result<WrittenWorkspace, GovernanceRefusal>> {
  const seat = findWorkspaceMaker(context, caller, request.organizationName)
  if (!seat.ok) return seat
  const { attributes, relationships } = request.data
  const project = findPlace(context, caller, {
    seat: seat.value,
    projectId: relationships?.project?.data.id ?? seat.value.organization.defaultProjectId,
  })
  if (!project.ok) return project
  if (!rightsOnProject(context, seat.value, project.value).createWorkspace) return err(UNSEEN)
  const blank = blankWorkspace(context, seat.value, project.value)
  const planned = planSettings(
    {
      ...blank,
      sourceName: attributes['source-name'] || null,
      sourceUrl: attributes['source-url'] || null,
    },
    attributes,
    project.value,
  )
  const { workspace, notices } = planned
  const tags = withFlatTags(relationships)
  const wanted = { tags, isWholeSet: true, pointer: TAGS_POINTER }
  const problems = [
    ...nameProblems(context, workspace),
    ...planned.problems,
    ...workspaceTagProblems(context.store.tables, workspace, wanted),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    action: 'WorkspaceCreated',
    caller,
    organizationId: workspace.organizationId,
    subjects: [workspace.id],
    changes: [
      put('workspaces', workspace),
      ...planTags(context, workspaceTagOwner(workspace), wanted).changes,
    ],
  })
  return ok({ seen: seenWorkspace(context, seat.value, workspace), notices })
}

/** Returns the bindings of a request; a flat tag is a binding without a value. */
function withFlatTags(
  relationships: v2.WorkspaceCreateRequest['data']['relationships'],
): readonly v2.NewTagBinding[] {
  const bindings = relationships?.['tag-bindings']?.data ?? []
  const keys = new Set(bindings.map(({ attributes }) => attributes.key))
  const flat = (relationships?.tags?.data ?? []).filter(
    ({ attributes }) => !keys.has(attributes.name),
  )
  return [...bindings, ...flat.map(({ attributes }) => flatBinding(attributes.name))]
}

/**
 * Returns the project in a request. An invisible project is reported like an unknown one, so that
 * existing IDs are not revealed.
 */
function findPlace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seat, projectId }: { readonly seat: Seat; readonly projectId: string },
): Result<ProjectRow, GovernanceRefusal> {
  const seen = findProject(context, caller, projectId)
  if (seen.ok && seen.value.organization.id === seat.organization.id) return ok(seen.value.project)
  const pointer = '/data/relationships/project/data'
  return err({ code: 'invalid', problems: [{ pointer, detail: 'Project does not exist' }] })
}

function blankWorkspace(
  { clock, ids }: GovernanceContext,
  { organization }: Seat,
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
  const [taken] = store.tables.workspaces.keysIn('name', scopedKey(organizationId, foldName(name)))
  if (taken === undefined || taken === id) return []
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
): Promise<Result<WrittenWorkspace, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address, right: 'update' })
  if (!found.ok) return found
  const { workspace: before, rights } = found.value
  const { tables } = context.store
  const tags = data.relationships?.['tag-bindings']?.data
  if (tags !== undefined && !mayBind(tables, before.id, { tags, rights })) return err(UNSEEN)
  const project = findNewProject(context, caller, { from: found.value, data })
  if (!project.ok) return project
  const planned = planSettings(
    inProject(before, project.value),
    data.attributes ?? {},
    project.value,
  )
  const wanted = { tags: tags ?? [], isWholeSet: true, pointer: TAGS_POINTER }
  const problems = [
    ...nameProblems(context, planned.workspace),
    ...planned.problems,
    ...workspaceTagProblems(tables, planned.workspace, wanted),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const isSame = isEqual(before, planned.workspace)
  const workspace = isSame ? before : { ...planned.workspace, updatedMs: context.clock.nowMs() }
  const owner = workspaceTagOwner(workspace)
  await commitWrite(context, {
    action: workspace.projectId === before.projectId ? 'WorkspaceUpdated' : 'WorkspaceMoved',
    caller,
    organizationId: workspace.organizationId,
    subjects: [workspace.id],
    changes: [
      ...(isSame ? [] : [put('workspaces', workspace), ...movedAccesses(context, workspace)]),
      ...(tags === undefined ? [] : planTags(context, owner, wanted).changes),
    ],
  })
  return ok({ seen: seenWorkspace(context, found.value, workspace), notices: planned.notices })
}

/** Returns the destination project; the current one if the request names none. */
function findNewProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { from, data }: { readonly from: SeenWorkspace; readonly data: WorkspaceUpdate['data'] },
): Result<ProjectRow, GovernanceRefusal> {
  const projectId = data.relationships?.project?.data.id
  if (projectId === undefined || projectId === from.project.id) return ok(from.project)
  const project = findPlace(context, caller, { seat: from, projectId })
  if (!project.ok) return project
  const mayMove = [from.project, project.value].every(
    (one) => rightsOnProject(context, from, one).moveWorkspace,
  )
  return mayMove ? project : err(UNSEEN)
}
