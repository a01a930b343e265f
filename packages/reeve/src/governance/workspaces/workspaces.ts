import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type ProjectRow,
  type WorkspaceRow,
  type RefusalReason,
} from '../../model/index.ts'
import { normalizeName, put, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { moveToProject, moveAccessChanges } from './move-workspaces.ts'
import {
  canSetTags,
  computeTagChanges,
  toFlatBinding,
  workspaceTagOwner,
  workspaceTagProblems,
} from '../tags/tags.ts'
import {
  findProject,
  findOrganization,
  projectIdsWithRights,
  projectRightsOf,
  type VisibleOrganization,
} from '../authorization.ts'
import { deleteWorkspaceChanges } from '../cascade.ts'
import { withAutoDestroyAt, withAutoDestroyDuration } from './auto-destroy.ts'
import {
  findWorkspaceWith,
  toVisibleWorkspace,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from './find-workspace.ts'
import { summarizeRuns } from './list-workspaces.ts'
import { remoteStateSharing } from './remote-state.ts'

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

interface WorkspaceUpdate {
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

/** Attributes that create and update have in common. */
type WorkspaceAttributes = NonNullable<v2.WorkspaceUpdateRequest['data']['attributes']>

/** A workspace after a request, with problems and notices. */
interface ResolvedSettings {
  readonly workspace: WorkspaceRow
  readonly problems: readonly AttributeProblem[]
  /** Notices for users about side effects. */
  readonly notices: readonly string[]
}

/** Applies attributes to a workspace: omitted ones are unchanged, null clears. */
function resolveSettings(
  before: WorkspaceRow,
  attributes: WorkspaceAttributes,
  project: ProjectRow,
): ResolvedSettings {
  const updated = withSimpleSettings(before, attributes)
  const { inherits, problems, notices } = resolveInheritance(before, attributes, project)
  const requestedDuration = attributes['auto-destroy-activity-duration']
  const ownDuration =
    requestedDuration === undefined ? before.autoDestroyActivityDuration : requestedDuration
  const workspace = withAutoDestroyDuration(
    { ...updated, inheritsProjectAutoDestroy: inherits },
    inherits ? project.autoDestroyActivityDuration : ownDuration,
  )
  const deadline = attributes['auto-destroy-at']
  return {
    // A deadline that is set directly is valid once, with or without a duration.
    workspace:
      deadline === undefined
        ? workspace
        : withAutoDestroyAt(workspace, deadline === null ? null : Date.parse(deadline)),
    problems: [...modeProblems(attributes), ...problems],
    notices,
  }
}

function withSimpleSettings(before: WorkspaceRow, attributes: WorkspaceAttributes): WorkspaceRow {
  const mode = attributes['execution-mode']
  // An explicit mode overrides that of the organization, unless the request says otherwise.
  const overwrites =
    attributes['setting-overwrites']?.['execution-mode'] ??
    (mode === undefined ? before.overwritesExecutionMode : true)
  return {
    ...before,
    name: attributes.name ?? before.name,
    description: nullIfEmpty(attributes.description, before.description),
    autoApply: attributes['auto-apply'] ?? before.autoApply,
    autoApplyRunTrigger:
      attributes['auto-apply-run-trigger'] ?? before.autoApplyRunTrigger ?? false,
    executionMode: mode ?? before.executionMode,
    overwritesExecutionMode: overwrites,
    workingDirectory: nullIfEmpty(attributes['working-directory'], before.workingDirectory),
    driftCheckInterval:
      attributes['drift-check-interval'] === undefined
        ? (before.driftCheckInterval ?? null)
        : attributes['drift-check-interval'],
    toolVersion: nullIfEmpty(attributes['tool-version'], before.toolVersion),
    ...withSharing(before, attributes),
  }
}

function withSharing(
  before: WorkspaceRow,
  attributes: WorkspaceAttributes,
): Pick<WorkspaceRow, 'remoteState'> {
  const { 'global-remote-state': global, 'project-remote-state': project } = attributes
  if (global === undefined && project === undefined) return {}
  const sharing = remoteStateSharing(before)
  return {
    remoteState: {
      ...sharing,
      global: global ?? sharing.global,
      project: project ?? sharing.project,
    },
  }
}

/** `""` is stored as null, like null itself. */
function nullIfEmpty(requested: string | null | undefined, before: string | null): string | null {
  return requested === undefined ? before : requested || null
}

/** Agent pools are not supported, so none can be given. */
function modeProblems(attributes: WorkspaceAttributes): readonly AttributeProblem[] {
  if (attributes['execution-mode'] !== 'agent') return []
  return [
    {
      pointer: '/data/attributes/execution-mode',
      detail: "Agent pool must be specified when using 'agent' execution mode",
    },
  ]
}

/** While it inherits, a workspace has the duration of its project. */
function resolveInheritance(
  before: WorkspaceRow,
  attributes: WorkspaceAttributes,
  project: ProjectRow,
): Pick<ResolvedSettings, 'problems' | 'notices'> & { readonly inherits: boolean } {
  const requested = attributes['inherits-project-auto-destroy']
  const requestedDuration = attributes['auto-destroy-activity-duration']
  const inherits = requested ?? before.inheritsProjectAutoDestroy
  const projectDuration = project.autoDestroyActivityDuration
  if (!inherits || requestedDuration === undefined || requestedDuration === projectDuration)
    return { inherits, problems: [], notices: [] }
  // The project has no duration to inherit, so the value can only be an override.
  if (projectDuration === null && requested === undefined)
    return { inherits: false, problems: [], notices: [OVERRIDE_NOTICE] }
  return { inherits, problems: [DURATION_MISMATCH], notices: [] }
}

const OVERRIDE_NOTICE =
  'inherits-project-auto-destroy was set to false, because the project has no duration.'

const DURATION_MISMATCH: AttributeProblem = {
  pointer: '/data/attributes/auto-destroy-activity-duration',
  detail:
    'Auto destroy activity duration is inherited: the workspace auto destroy duration must match ' +
    'project auto destroy duration; set inherits-project-auto-destroy to false to override it',
}

/** Deletes a workspace even if it manages resources, which requires permission to force. */
export async function deleteWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address, right: 'destroy' })
  if (!found.ok) return found
  if (!found.value.rights.forceDestroy)
    return err({ code: 'forbidden', detail: 'Not authorized to force-delete the workspace.' })
  return commitDeletion(context, caller, found.value)
}

/**
 * Deletes a workspace that is unlocked, idle and manages no resources. The error names the reason
 * otherwise.
 */
export async function safeDeleteWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address, right: 'destroy' })
  if (!found.ok) return found
  const { workspace } = found.value
  const runs = summarizeRuns(context.store.tables, workspace.id)
  if (workspace.lock !== null)
    return conflict('Workspace is locked; unlock it first', 'workspace-locked')
  if (runs.isActive) return conflict('Workspace has a run that is being processed')
  if (runs.resourceCount > 0)
    return conflict(`Workspace manages ${runs.resourceCount} resource(s); destroy them first`)
  return commitDeletion(context, caller, found.value)
}

function conflict(detail: string, reason?: RefusalReason): Result<never, GovernanceRefusal> {
  return err({ code: 'conflict', detail, ...(reason && { reason }) })
}

async function commitDeletion(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspace }: VisibleWorkspace,
): Promise<Result<void, GovernanceRefusal>> {
  await commitWrite(context, {
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [workspace.id],
    changes: deleteWorkspaceChanges(context.store.tables, workspace.id),
  })
  return ok(undefined)
}
