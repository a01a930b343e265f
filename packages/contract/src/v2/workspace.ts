import { Type } from 'typebox'
import { routes } from '../route.ts'
import { action, create, routeKind, list, read, remove, update } from './define.ts'
import { Named, Nullable, Timestamp, type Infer } from '../schema.ts'
import {
  AnyIdentifier,
  DocumentOf,
  Flags,
  Linked,
  LinkedOnly,
  OneOf,
  OptionalBody,
  PageOf,
  RequestOf,
  ResourceOf,
  SelfLink,
  ToOne,
  ToOneOrNone,
} from './json-api.ts'
import { COMMENT_LENGTH_MAX, DESCRIPTION_LENGTH_MAX, LINE_LENGTH_MAX } from './limits.ts'
import { EXECUTION_MODES } from './organization.ts'
import { AutoDestroyDuration, Name } from './patterns.ts'
import { fieldsQuery, includeQuery, taggedQuery } from './query.ts'
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
export const Workspace = ResourceOf('Workspace', 'workspaces', {
  attributes: Type.Object({
    name: Name('Unique in the organization, not only in its project; case ignored.'),
    description: Nullable(Type.String()),
    'created-at': Timestamp(),
    'updated-at': Timestamp(),
    'latest-change-at': Timestamp(),
    locked: Type.Boolean(),
    'locked-reason': Nullable(Type.String()),
    'execution-mode': OneOf(EXECUTION_MODES),
    'auto-apply': Type.Boolean(),
    'auto-apply-run-trigger': Type.Boolean({
      description: 'Runs that run triggers queue are confirmed if all policies pass.',
    }),
    'auto-destroy-at': Nullable(Timestamp()),
    // Mirrors the project's value while it inherits.
    'auto-destroy-activity-duration': Nullable(AutoDestroyDuration()),
    'auto-destroy-status': Nullable(OneOf(AUTO_DESTROY_STATUSES)),
    'inherits-project-auto-destroy': Type.Boolean(),
    'drift-check-interval': Nullable(
      Type.String({ description: 'Time between two plans that only refresh; null for none.' }),
    ),
    'drift-status': Nullable(
      OneOf(DRIFT_STATUSES, 'Result of the latest drift check; null before the first.'),
    ),
    'resource-count': Type.Integer({ minimum: 0 }),
    'policy-check-failures': Type.Integer({ minimum: 0 }),
    'run-failures': Type.Integer({ minimum: 0 }),
    source: OneOf(WORKSPACE_SOURCES),
    'source-name': Nullable(Type.String()),
    'source-url': Nullable(Type.String()),
    'working-directory': Nullable(Type.String()),
    'tool-version': Nullable(Type.String()),
    'structured-run-output-enabled': Type.Boolean({
      description: 'The log of a run is made of JSON lines, and its plan is rendered from them.',
    }),
    'tag-names': Type.Array(Type.String({ description: 'Keys of own bindings without a value.' })),
    'setting-overwrites': Type.Object({ 'execution-mode': Type.Boolean() }),
    actions: Flags(['is-destroyable']),
    permissions: Flags(WORKSPACE_PERMISSIONS),
  }),
  relationships: Type.Object({
    organization: ToOne('organizations'),
    project: ToOne('projects'),
    'current-run': ToOneOrNone('runs'),
    'latest-run': ToOneOrNone('runs'),
    'locked-by': Type.Object({ data: Nullable(AnyIdentifier(['users', 'teams', 'runs'])) }),
    'tag-bindings': LinkedOnly(),
    'effective-tag-bindings': Linked('effective-tag-bindings'),
  }),
  // The path by name, which is the one that people read.
  links: SelfLink(),
})
export type Workspace = Infer<typeof Workspace>

export const WorkspaceDocument = DocumentOf(Workspace)
export type WorkspaceDocument = Infer<typeof WorkspaceDocument>

export const WorkspacePage = PageOf(Workspace)
export type WorkspacePage = Infer<typeof WorkspacePage>

const line = Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX })))

const writable = {
  description: Type.Optional(Nullable(Type.String({ maxLength: DESCRIPTION_LENGTH_MAX }))),
  'auto-apply': Type.Optional(Type.Boolean()),
  'auto-apply-run-trigger': Type.Optional(Type.Boolean()),
  'execution-mode': Type.Optional(OneOf(EXECUTION_MODES)),
  'setting-overwrites': Type.Optional(
    Type.Object({ 'execution-mode': Type.Optional(Type.Boolean()) }),
  ),
  // Absent keeps, null clears.
  'auto-destroy-at': Type.Optional(Nullable(Timestamp())),
  'auto-destroy-activity-duration': Type.Optional(Nullable(AutoDestroyDuration())),
  'inherits-project-auto-destroy': Type.Optional(Type.Boolean()),
  'drift-check-interval': Type.Optional(Nullable(AutoDestroyDuration())),
  'working-directory': line,
  'tool-version': line,
}

const relationships = Type.Optional(
  Type.Object({
    project: Type.Optional(ToOne('projects')),
    'tag-bindings': Type.Optional(NewTagBindings()),
  }),
)

/** Without a project relationship the workspace goes to the default project. */
export const WorkspaceCreateRequest = RequestOf('WorkspaceCreateRequest', 'workspaces', {
  attributes: Type.Object({
    name: Name('Unique in the organization.'),
    'source-name': line,
    'source-url': line,
    ...writable,
  }),
  relationships: Type.Optional(
    Type.Object({
      project: Type.Optional(ToOne('projects')),
      'tag-bindings': Type.Optional(NewTagBindings()),
      tags: Type.Optional(NewTags()),
    }),
  ),
})
export type WorkspaceCreateRequest = Infer<typeof WorkspaceCreateRequest>

/** A new project moves the workspace; tag bindings that are present replace the whole set. */
export const WorkspaceUpdateRequest = RequestOf('WorkspaceUpdateRequest', 'workspaces', {
  attributes: Type.Optional(
    Type.Object({ name: Type.Optional(Name('Unique in the organization.')), ...writable }),
  ),
  relationships,
})
export type WorkspaceUpdateRequest = Infer<typeof WorkspaceUpdateRequest>

const reason = Type.Optional(Nullable(Type.String({ maxLength: COMMENT_LENGTH_MAX })))

/** Plain JSON; a document, as the command-line tools send it, is accepted as well. */
export const WorkspaceLockRequest = Named('WorkspaceLockRequest', {
  reason,
  data: Type.Optional(
    Type.Object({
      type: Type.Optional(Type.String()),
      attributes: Type.Optional(Type.Object({ reason })),
    }),
  ),
})

const brokenRule = 'A rule is broken, the name is taken, or the project does not exist.'
const reads = {
  query: { ...includeQuery(WORKSPACE_INCLUDES), ...fieldsQuery('workspaces') },
  returns: WorkspaceDocument,
  needs: 'Read access to the workspace.',
} as const

const updates = {
  body: WorkspaceUpdateRequest,
  returns: WorkspaceDocument,
  errors: { 422: brokenRule },
  needs: 'Permission to update the workspace; moving needs it in both projects.',
} as const

const deletesByForce = {
  errors: { 403: 'The caller may delete the workspace only safely, not by force.' },
  needs: 'Owners, or permission to delete where the organization allows force-delete.',
} as const

const safeDelete = routeKind({ method: 'POST', status: 204, result: 'Deleted.', query: {} })

const deletesSafely = {
  growsState: false,
  errors: { 409: 'The workspace is locked, being processed, or manages resources.' },
  needs: 'Permission to delete the workspace.',
} as const

export const workspaceRoutes = routes('Workspaces', {
  listWorkspaces: list('/organizations/:organization_name/workspaces', {
    summary: 'List the workspaces of an organization that the caller may read.',
    query: {
      'search[name]': Type.Optional(
        Type.String({ description: 'Part of the name, case ignored.' }),
      ),
      'search[wildcard-name]': Type.Optional(
        Type.String({ description: 'A name with `*` at its start, end or both.' }),
      ),
      'search[tags]': Type.Optional(
        Type.String({ description: 'Comma-separated keys; all must be bound.' }),
      ),
      'search[exclude-tags]': Type.Optional(
        Type.String({ description: 'Comma-separated keys; none may be bound.' }),
      ),
      'filter[project][id]': Type.Optional(Type.String()),
      'filter[current-run][status]': Type.Optional(
        Type.String({ description: 'Comma-separated run statuses.' }),
      ),
      ...taggedQuery,
      sort: Type.Optional(OneOf(WORKSPACE_SORTS, 'Newest first when omitted.')),
      ...includeQuery(WORKSPACE_INCLUDES),
      ...fieldsQuery('workspaces'),
    },
    returns: WorkspacePage,
    needs: 'Any member of the organization; the list holds what the caller may read.',
  }),
  createWorkspace: create('/organizations/:organization_name/workspaces', {
    summary: 'Create a workspace.',
    body: WorkspaceCreateRequest,
    returns: WorkspaceDocument,
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
    body: OptionalBody(WorkspaceLockRequest),
    returns: WorkspaceDocument,
    errors: { 409: 'The workspace is locked already.', 422: 'The reason is too long or not text.' },
    needs: 'Permission to lock the workspace.',
  }),
  unlockWorkspace: action('/workspaces/:workspace_id/actions/unlock', {
    summary: 'Unlock a workspace that the caller locked.',
    growsState: false,
    returns: WorkspaceDocument,
    errors: { 409: 'The workspace is not locked, or is locked by another user, a team or a run.' },
    needs: 'Permission to lock the workspace, for a lock of one’s own.',
  }),
  forceUnlockWorkspace: action('/workspaces/:workspace_id/actions/force-unlock', {
    summary: 'Unlock a workspace, regardless of who locked it.',
    growsState: false,
    returns: WorkspaceDocument,
    errors: { 409: 'The workspace is not locked.' },
    needs: 'Admin access to the workspace.',
  }),
})
