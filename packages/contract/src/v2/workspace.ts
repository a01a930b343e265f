import * as t from './json-api.ts'
import { action, add, create, routeKind, list, read, remove, update, routes } from './define.ts'
import { EXECUTION_MODES } from './organization.ts'
import { NewTagBindings, NewTags } from './tag-binding.ts'

export const WORKSPACE_PERMISSIONS = [
  'can-update',
  'can-destroy',
  'can-force-delete',
  'can-queue-run',
  'can-queue-apply',
  'can-queue-destroy',
  'can-lock',
  'can-unlock',
  'can-force-unlock',
  'can-read-settings',
  'can-manage-tags',
  'can-read-variable',
  'can-update-variable',
  'can-read-state-versions',
  'can-read-state-outputs',
  'can-create-state-versions',
] as const

export const WORKSPACE_INCLUDES = [
  'organization',
  'project',
  'current_run',
  'latest_run',
  'locked_by',
  'effective_tag_bindings',
] as const

export const WORKSPACE_SORTS = [
  'name',
  '-name',
  'current-run.created-at',
  '-current-run.created-at',
  'latest-change-at',
  '-latest-change-at',
] as const

export const WORKSPACE_SOURCES = ['api', 'ui', 'cli'] as const
/** Whether infrastructure has changed outside of runs. */
export const DRIFT_STATUSES = ['none', 'drifted'] as const
export const AUTO_DESTROY_STATUSES = ['scheduled', 'destroying', 'destroyed', 'errored'] as const

/** The attributes, relationships and links of a workspace. */
export const Workspace = t.ResourceOf('Workspace', 'workspaces', {
  attributes: t.Object({
    name: t.Name('Unique in the organization, not only in its project; case ignored.'),
    description: t.Nullable(t.String()),
    'created-at': t.Timestamp(),
    'updated-at': t.Timestamp(),
    'latest-change-at': t.Timestamp(),
    locked: t.Boolean(),
    'locked-reason': t.Nullable(t.String()),
    'execution-mode': t.OneOf(EXECUTION_MODES),
    'auto-apply': t.Boolean(),
    'auto-apply-run-trigger': t.Boolean({
      description: 'Runs that run triggers queue are confirmed if all policies pass.',
    }),
    'auto-destroy-at': t.Nullable(t.Timestamp()),
    // Mirrors the project's value while it inherits.
    'auto-destroy-activity-duration': t.Nullable(t.AutoDestroyDuration()),
    'auto-destroy-status': t.Nullable(t.OneOf(AUTO_DESTROY_STATUSES)),
    'inherits-project-auto-destroy': t.Boolean(),
    'drift-check-interval': t.Nullable(
      t.String({ description: 'Time between two plans that only refresh; null for none.' }),
    ),
    'drift-status': t.Nullable(
      t.OneOf(DRIFT_STATUSES, 'Result of the latest drift check; null before the first.'),
    ),
    'global-remote-state': t.Boolean({
      description: 'Runs of every workspace in the organization may read the outputs.',
    }),
    'project-remote-state': t.Boolean({
      description: 'Runs of the workspaces in the same project may read the outputs.',
    }),
    'resource-count': t.Integer({ minimum: 0 }),
    'policy-check-failures': t.Integer({ minimum: 0 }),
    'run-failures': t.Integer({ minimum: 0 }),
    source: t.OneOf(WORKSPACE_SOURCES),
    'source-name': t.Nullable(t.String()),
    'source-url': t.Nullable(t.String()),
    'working-directory': t.Nullable(t.String()),
    'tool-version': t.Nullable(t.String()),
    'structured-run-output-enabled': t.Boolean({
      description: 'The log of a run is made of JSON lines, and its plan is rendered from them.',
    }),
    'tag-names': t.Array(t.String({ description: 'Keys of own bindings without a value.' })),
    'setting-overwrites': t.Object({ 'execution-mode': t.Boolean() }),
    actions: t.Flags(['is-destroyable']),
    permissions: t.Flags(WORKSPACE_PERMISSIONS),
  }),
  relationships: t.Object({
    organization: t.ToOne('organizations'),
    project: t.ToOne('projects'),
    'current-run': t.ToOneOrNone('runs'),
    'latest-run': t.ToOneOrNone('runs'),
    'locked-by': t.Object({ data: t.Nullable(t.AnyIdentifier(['users', 'teams', 'runs'])) }),
    'tag-bindings': t.LinkedOnly(),
    'effective-tag-bindings': t.Linked('effective-tag-bindings'),
    'remote-state-consumers': t.LinkedOnly(),
  }),
  // The path by name, which is the one that people read.
  links: t.Object({ self: t.PathLink(), 'self-html': t.PathLink('Page of the web UI.') }),
})
export type Workspace = t.Infer<typeof Workspace>

export const WorkspaceDocument = t.DocumentOf(Workspace)
export type WorkspaceDocument = t.Infer<typeof WorkspaceDocument>

export type WorkspacePage = t.Page<typeof Workspace>

const line = t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX })))

const writable = {
  description: t.Optional(t.Nullable(t.String({ maxLength: t.DESCRIPTION_LENGTH_MAX }))),
  'auto-apply': t.Optional(t.Boolean()),
  'auto-apply-run-trigger': t.Optional(t.Boolean()),
  'execution-mode': t.Optional(t.OneOf(EXECUTION_MODES)),
  'setting-overwrites': t.Optional(t.Object({ 'execution-mode': t.Optional(t.Boolean()) })),
  // Absent keeps, null clears.
  'auto-destroy-at': t.Optional(t.Nullable(t.Timestamp())),
  'auto-destroy-activity-duration': t.Optional(t.Nullable(t.AutoDestroyDuration())),
  'inherits-project-auto-destroy': t.Optional(t.Boolean()),
  'drift-check-interval': t.Optional(t.Nullable(t.AutoDestroyDuration())),
  'global-remote-state': t.Optional(t.Boolean()),
  'project-remote-state': t.Optional(t.Boolean()),
  'working-directory': line,
  'tool-version': line,
}

const relationships = t.Optional(
  t.Object({
    project: t.Optional(t.ToOne('projects')),
    'tag-bindings': t.Optional(NewTagBindings()),
  }),
)

/** Without a project relationship the workspace goes to the default project. */
export const WorkspaceCreateRequest = t.RequestOf('WorkspaceCreateRequest', 'workspaces', {
  attributes: t.Object({
    name: t.Name('Unique in the organization.'),
    'source-name': line,
    'source-url': line,
    ...writable,
  }),
  relationships: t.Optional(
    t.Object({
      project: t.Optional(t.ToOne('projects')),
      'tag-bindings': t.Optional(NewTagBindings()),
      tags: t.Optional(NewTags()),
    }),
  ),
})
export type WorkspaceCreateRequest = t.Infer<typeof WorkspaceCreateRequest>

/** A new project moves the workspace; tag bindings that are present replace the whole set. */
export const WorkspaceUpdateRequest = t.RequestOf('WorkspaceUpdateRequest', 'workspaces', {
  attributes: t.Optional(
    t.Object({ name: t.Optional(t.Name('Unique in the organization.')), ...writable }),
  ),
  relationships,
})
export type WorkspaceUpdateRequest = t.Infer<typeof WorkspaceUpdateRequest>

const reason = t.Optional(t.Nullable(t.String({ maxLength: t.COMMENT_LENGTH_MAX })))

/** Plain JSON; a document, as the command-line tools send it, is accepted as well. */
export const WorkspaceLockRequest = t.Named('WorkspaceLockRequest', {
  reason,
  data: t.Optional(
    t.Object({ type: t.Optional(t.String()), attributes: t.Optional(t.Object({ reason })) }),
  ),
})

/** The workspaces whose runs may read the outputs; an empty list removes all. */
export const RemoteStateConsumersRequest = t.Named('RemoteStateConsumersRequest', {
  data: t.Array(t.Identifier('workspaces'), { maxItems: t.REMOTE_STATE_CONSUMERS_MAX }),
})

const brokenRule = 'A rule is broken, the name is taken, or the project does not exist.'
const reads = {
  query: { ...t.includeQuery(WORKSPACE_INCLUDES), ...t.fieldsQuery('workspaces') },
  returns: Workspace,
  needs: 'Read access to the workspace.',
} as const

const updates = {
  body: WorkspaceUpdateRequest,
  returns: Workspace,
  errors: { 422: brokenRule },
  needs: 'Permission to update the workspace; moving needs it in both projects.',
} as const

const deletesByForce = {
  errors: { 403: 'The caller may delete the workspace only safely, not by force.' },
  needs: 'Owners, or permission to delete where the organization allows force-delete.',
} as const

const CONSUMERS = '/workspaces/:workspace_id/relationships/remote-state-consumers'

const changesConsumers = {
  body: RemoteStateConsumersRequest,
  errors: { 422: 'A workspace does not exist, or there would be too many.' },
  needs: 'Permission to update the workspace.',
} as const

const remoteStateRoutes = routes('Workspaces', {
  listRemoteStateConsumers: list(CONSUMERS, {
    summary: 'List the workspaces whose runs may read the outputs of this one, by name.',
    returns: Workspace,
    result: 'Those that the caller may read; without workspaces that share by project or globally.',
    needs: 'Read access to the workspace.',
  }),
  addRemoteStateConsumers: add(CONSUMERS, {
    summary: 'Let the runs of workspaces read the outputs of this one.',
    ...changesConsumers,
  }),
  replaceRemoteStateConsumers: update(CONSUMERS, {
    summary: 'Replace the workspaces whose runs may read the outputs of this one.',
    answers: { 204: t.emptyResponse('Replaced.') },
    ...changesConsumers,
  }),
  removeRemoteStateConsumers: remove(CONSUMERS, {
    summary: 'Stop sharing the outputs with workspaces.',
    ...changesConsumers,
  }),
})

const safeDelete = routeKind({ method: 'POST', status: 204, result: 'Deleted.', query: {} })

const deletesSafely = {
  growsState: false,
  errors: { 409: 'The workspace is locked, being processed, or manages resources.' },
  needs: 'Permission to delete the workspace.',
} as const

const ownRoutes = routes('Workspaces', {
  listWorkspaces: list('/organizations/:organization_name/workspaces', {
    summary: 'List the workspaces of an organization that the caller may read.',
    query: {
      'search[name]': t.Optional(t.String({ description: 'Part of the name, case ignored.' })),
      'search[wildcard-name]': t.Optional(
        t.String({ description: 'A name with `*` at its start, end or both.' }),
      ),
      'search[tags]': t.Optional(
        t.String({ description: 'Comma-separated keys; all must be bound.' }),
      ),
      'search[exclude-tags]': t.Optional(
        t.String({ description: 'Comma-separated keys; none may be bound.' }),
      ),
      'filter[project][id]': t.Optional(t.String()),
      'filter[current-run][status]': t.Optional(
        t.String({ description: 'Comma-separated run statuses.' }),
      ),
      ...t.taggedQuery,
      sort: t.Optional(t.OneOf(WORKSPACE_SORTS, 'Newest first when omitted.')),
      ...t.includeQuery(WORKSPACE_INCLUDES),
    },
    returns: Workspace,
    needs: 'Any member of the organization; the list holds what the caller may read.',
  }),
  createWorkspace: create('/organizations/:organization_name/workspaces', {
    summary: 'Create a workspace.',
    body: WorkspaceCreateRequest,
    returns: Workspace,
    errors: { 422: brokenRule },
    needs: 'Permission to create workspaces in the project.',
  }),
  readWorkspace: read('/workspaces/:workspace_id', { summary: 'Show a workspace.', ...reads }),
  readNamedWorkspace: read('/organizations/:organization_name/workspaces/:workspace_name', {
    summary: 'Show a workspace by name.',
    ...reads,
  }),
  updateWorkspace: update('/workspaces/:workspace_id', {
    summary: 'Change a workspace.',
    ...updates,
  }),
  updateNamedWorkspace: update('/organizations/:organization_name/workspaces/:workspace_name', {
    summary: 'Change a workspace by name.',
    ...updates,
  }),
  deleteWorkspace: remove('/workspaces/:workspace_id', {
    summary: 'Delete a workspace by force, whatever it manages.',
    ...deletesByForce,
  }),
  deleteNamedWorkspace: remove('/organizations/:organization_name/workspaces/:workspace_name', {
    summary: 'Delete a workspace by force, whatever it manages, by name.',
    ...deletesByForce,
  }),
  safeDeleteWorkspace: safeDelete('/workspaces/:workspace_id/actions/safe-delete', {
    summary: 'Delete a workspace that is unlocked and manages nothing.',
    ...deletesSafely,
  }),
  safeDeleteNamedWorkspace: safeDelete(
    '/organizations/:organization_name/workspaces/:workspace_name/actions/safe-delete',
    {
      summary: 'Delete a workspace that is unlocked and manages nothing, by name.',
      ...deletesSafely,
    },
  ),
  lockWorkspace: action('/workspaces/:workspace_id/actions/lock', {
    summary: 'Lock a workspace, so that no run starts in it.',
    growsState: false,
    body: t.OptionalBody(WorkspaceLockRequest),
    returns: Workspace,
    errors: { 409: 'The workspace is locked already.', 422: 'The reason is too long or not text.' },
    needs: 'Permission to lock the workspace.',
  }),
  unlockWorkspace: action('/workspaces/:workspace_id/actions/unlock', {
    summary: 'Unlock a workspace that the caller locked.',
    growsState: false,
    returns: Workspace,
    errors: { 409: 'The workspace is not locked, or is locked by another user, a team or a run.' },
    needs: 'Permission to lock the workspace, for a lock of one’s own.',
  }),
  forceUnlockWorkspace: action('/workspaces/:workspace_id/actions/force-unlock', {
    summary: 'Unlock a workspace, regardless of who locked it.',
    growsState: false,
    returns: Workspace,
    errors: { 409: 'The workspace is not locked.' },
    needs: 'Admin access to the workspace.',
  }),
})

export const workspaceRoutes = { ...ownRoutes, ...remoteStateRoutes }
