import * as t from './json-api.ts'
import { add, create, list, read, remove, update, routes } from './define.ts'
import { NewTagBindings } from './tag-binding.ts'

/** Permissions of a project. The others are additive. */
export const PROJECT_PERMISSIONS = [
  'can-update',
  'can-destroy',
  'can-create-workspace',
  'can-move-workspace',
  'can-manage-tags',
  'can-read-teams',
  'can-manage-teams',
] as const

export const PROJECT_INCLUDES = ['effective_tag_bindings'] as const
export const PROJECT_SORTS = ['name', '-name'] as const

/** Attributes of every response, including that of create. */
const everywhere = {
  name: t.ProjectName(),
  description: t.Nullable(t.String({ maxLength: t.PROJECT_DESCRIPTION_LENGTH_MAX })),
  // Present in every response, because clients compare the created project with the one they read.
  'auto-destroy-activity-duration': t.Nullable(t.AutoDestroyDuration()),
  'created-at': t.Timestamp(),
  // Needed because the default project may be renamed.
  'is-default': t.Boolean(),
}

const members = {
  relationships: t.Object({
    organization: t.ToOneLinked('organizations'),
    'tag-bindings': t.LinkedOnly(),
    'effective-tag-bindings': t.Linked('effective-tag-bindings'),
  }),
  links: t.SelfLink(),
}

export const Project = t.ResourceOf('Project', 'projects', {
  attributes: t.Object({
    ...everywhere,
    'workspace-count': t.Integer({ minimum: 0 }),
    'team-count': t.Integer({
      minimum: 0,
      description: 'Teams with access to this project itself, not through the organization.',
    }),
    permissions: t.Flags(PROJECT_PERMISSIONS),
  }),
  ...members,
})
export type Project = t.Infer<typeof Project>

/** Response to create: without counts, and with `can-update` as its only permission. */
export const CreatedProject = t.ResourceOf('CreatedProject', 'projects', {
  attributes: t.Object({ ...everywhere, permissions: t.Flags(['can-update']) }),
  ...members,
})
export type CreatedProject = t.Infer<typeof CreatedProject>

export const ProjectDocument = t.DocumentOf(Project)
export type ProjectDocument = t.Infer<typeof ProjectDocument>

export const CreatedProjectDocument = t.DocumentOf(CreatedProject)

export const ProjectPage = t.CountedPageOf(Project)
export type ProjectPage = t.Infer<typeof ProjectPage>

const writable = {
  // An empty string is stored as null.
  description: t.Optional(t.Nullable(t.String({ maxLength: t.PROJECT_DESCRIPTION_LENGTH_MAX }))),
  'auto-destroy-activity-duration': t.Optional(t.Nullable(t.AutoDestroyDuration())),
}

export const ProjectCreateRequest = t.RequestOf('ProjectCreateRequest', 'projects', {
  attributes: t.Object({ name: t.ProjectName(), ...writable }),
  relationships: t.Optional(t.Object({ 'tag-bindings': t.Optional(NewTagBindings()) })),
})
export type ProjectCreateRequest = t.Infer<typeof ProjectCreateRequest>

/**
 * Update of a project. Omitted members are unchanged; `attributes` is optional. Tag bindings, if
 * present, replace the whole set.
 */
export const ProjectUpdateRequest = t.RequestOf('ProjectUpdateRequest', 'projects', {
  attributes: t.Optional(t.Object({ name: t.Optional(t.ProjectName()), ...writable })),
  relationships: t.Optional(t.Object({ 'tag-bindings': t.Optional(NewTagBindings()) })),
})
export type ProjectUpdateRequest = t.Infer<typeof ProjectUpdateRequest>

export const MoveWorkspacesRequest = t.MembersRequestOf(
  'MoveWorkspacesRequest',
  'workspaces',
  t.MOVED_WORKSPACES_MAX,
)

/**
 * Namespaces of the workload API that belong to the project and inherit its policy sets, by name.
 */
export const ProjectNamespacesRequest = t.MembersRequestOf('ProjectNamespacesRequest', 'namespaces')

export const ProjectNamespaceList = t.ListOf(t.Identifier('namespaces'), 'ProjectNamespaceList')

const managers = 'Owners team, teams with Manage projects, or the organization token.'

export const projectRoutes = routes('Projects', {
  createProject: create('/organizations/:organization_name/projects', {
    summary: 'Create a project in an organization.',
    body: ProjectCreateRequest,
    returns: CreatedProject,
    errors: { 422: 'A rule on an attribute or tag binding is broken, or the name is taken.' },
    needs: managers,
  }),
  listProjects: list('/organizations/:organization_name/projects', {
    summary: 'List the projects of an organization that the caller may read.',
    query: {
      q: t.Optional(
        t.String({
          description: 'Part of the name, case ignored. Ignored when filter[names] is given.',
        }),
      ),
      'filter[names]': t.Optional(
        t.String({ description: 'Comma-separated whole names, case ignored.' }),
      ),
      'filter[permissions][create-workspace]': t.presenceFlag(
        'Only projects in which the caller may create workspaces.',
      ),
      'filter[permissions][update]': t.presenceFlag('Only projects that the caller may update.'),
      'filter[permissions][move-workspace]': t.presenceFlag(
        'Only projects in which the caller may move workspaces.',
      ),
      ...t.taggedQuery,
      sort: t.Optional(t.OneOf(PROJECT_SORTS, 'Newest first when omitted.')),
      ...t.includeQuery(PROJECT_INCLUDES),
      ...t.fieldsQuery('projects'),
    },
    returns: ProjectPage,
    needs: 'Any member of the organization; the list holds what the caller may read.',
  }),
  readProject: read('/projects/:project_id', {
    summary: 'Show a project.',
    query: t.includeQuery(PROJECT_INCLUDES),
    returns: Project,
    needs: 'Read access to the project.',
  }),
  updateProject: update('/projects/:project_id', {
    summary: 'Change a project. Workspaces without an override get a new auto-destroy duration.',
    body: ProjectUpdateRequest,
    returns: Project,
    errors: { 422: 'A rule on an attribute or tag binding is broken, or the name is taken.' },
    needs: `${managers} Also teams that may update the project; removing tags needs admin access.`,
  }),
  deleteProject: remove('/projects/:project_id', {
    summary:
      'Delete a project. It must contain no workspaces and no namespaces, unless it is forced.',
    query: {
      force: t.Optional(
        t.Boolean({
          description: 'Delete the contained workspaces too, and let the namespaces go.',
          default: false,
        }),
      ),
    },
    errors: {
      403: 'The caller may not force-delete the project, or not let its namespaces go.',
      422: 'The project contains workspaces or namespaces, or is the default project.',
    },
    needs: `${managers} Also teams that may delete the project.`,
  }),
  moveWorkspaces: add('/projects/:project_id/relationships/workspaces', {
    summary: 'Move workspaces into the project: all of them or none.',
    body: MoveWorkspacesRequest,
    result: 'Moved.',
    errors: {
      403: 'A workspace is not found or may not leave its project; the detail lists the ids.',
      422: 'The list is empty, too long, or an item has no id or another type.',
    },
    needs: 'Permission to move workspaces in the destination and in every source project.',
  }),
  listProjectNamespaces: read('/projects/:project_id/relationships/namespaces', {
    summary: 'List the workload namespaces that belong to the project.',
    returns: ProjectNamespaceList,
    result: 'All its namespaces.',
    needs: 'Read access to the project.',
  }),
  addProjectNamespaces: add('/projects/:project_id/relationships/namespaces', {
    summary: 'Make workload namespaces belong to the project, so that its policy sets guard them.',
    body: ProjectNamespacesRequest,
    errors: {
      422: 'A namespace does not exist or belongs to another project, or the caller may not add it.',
    },
    needs: `The site administrator. Where \`/v1\` asks for no rights also: ${managers}`,
  }),
  removeProjectNamespaces: remove('/projects/:project_id/relationships/namespaces', {
    summary: 'Take workload namespaces out of the project.',
    body: ProjectNamespacesRequest,
    result: 'Removed; namespaces that were not members are ignored.',
    errors: {
      403: 'The caller may not manage the policies of the organization.',
      422: 'The list is empty, too long, or an item has no id or another type.',
    },
    needs: `${managers} With access control on, also the permission to manage policies.`,
  }),
})
