import { v2 } from '@reeve/contract'
import {
  addProjectNamespaces,
  createProject,
  deleteProject,
  findUpdatableProject,
  findMoveDestination,
  findProject,
  findOrganizationForNewProject,
  listProjects,
  moveWorkspaces,
  projectEffectiveTags,
  removeProjectNamespaces,
  updateProject,
  type GovernanceContext,
  type ProjectRight,
  type VisibleProject,
  changeProjectTags,
  findTaggableProject,
  ownTags,
} from '../../governance/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  resourceDocument,
  pageDocument,
  listDocument,
  offsetAndLimit,
} from './documents.ts'
import { RELATED_TAGS_RULE, tagBindingRule } from './body-validation.ts'
import { endpoint, type V2Endpoint, type V2Request } from './endpoint.ts'
import { splitList } from './query.ts'
import { createdProjectResource, projectResource } from './resources/project.ts'
import {
  changedTagBindingResource,
  effectiveTagBindingResource,
  tagBindingResource,
} from './resources/tag-binding.ts'
import { parseTagFilters } from './tags.ts'

const { v2Routes } = v2
const { PROJECT_INCLUDES } = v2

export function projectEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.createProject,
      async ({ caller, params, body }) =>
        mapResult(
          await createProject(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (visible) => createdDocument(createdProjectResource(visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationForNewProject(context, caller, params.organization_name),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    endpoint(v2Routes.listProjects, (request) => listResponse(context, request), {
      includes: PROJECT_INCLUDES,
    }),
    endpoint(
      v2Routes.readProject,
      ({ caller, params, includes }) =>
        mapResult(findProject(context, caller, params.project_id), (visible) => {
          const { resource, included } = projectWithIncludes(context, visible, includes)
          return resourceDocument(resource, included === undefined ? {} : { included })
        }),
      { includes: PROJECT_INCLUDES },
    ),
    endpoint(
      v2Routes.updateProject,
      async ({ caller, params, body }) =>
        mapResult(
          await updateProject(context, caller, { projectId: params.project_id, data: body.data }),
          (visible) => resourceDocument(projectResource(context.store.tables, visible)),
        ),
      {
        authorize: ({ caller, params }) => findUpdatableProject(context, caller, params.project_id),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    endpoint(v2Routes.deleteProject, async ({ caller, params, query }) =>
      mapResult(
        await deleteProject(context, caller, {
          projectId: params.project_id,
          force: query.force === true,
        }),
        () => NO_CONTENT,
      ),
    ),
    endpoint(
      v2Routes.moveWorkspaces,
      async ({ caller, params, body }) =>
        mapResult(
          await moveWorkspaces(context, caller, {
            projectId: params.project_id,
            workspaceIds: body.data.map(({ id }) => id),
          }),
          () => NO_CONTENT,
        ),
      {
        authorize: ({ caller, params }) => findMoveDestination(context, caller, params.project_id),
      },
    ),
    ...namespaceEndpoints(context),
  ]
}

type ListRequest = V2Request<typeof v2Routes.listProjects>

const PERMISSION_FILTERS = [
  ['filter[permissions][create-workspace]', 'createWorkspace'],
  ['filter[permissions][update]', 'update'],
  ['filter[permissions][move-workspace]', 'moveWorkspace'],
] as const satisfies readonly (readonly [keyof ListRequest['query'], ProjectRight])[]

function listResponse(context: GovernanceContext, request: ListRequest) {
  const { caller, params, query, page, includes } = request
  const names = query['filter[names]']
  const tags = parseTagFilters(query)
  if (!tags.ok) return tags
  const result = listProjects(context, caller, {
    organizationName: params.organization_name,
    nameContains: query.q,
    names: names === undefined ? undefined : splitList(names),
    tags: tags.value,
    rights: PERMISSION_FILTERS.flatMap(([name, right]) => (query[name] === true ? [right] : [])),
    // Newest first, so that pages are stable while projects are added.
    order: query.sort ?? 'newest',
    ...offsetAndLimit(page),
  })
  return mapResult(result, ({ projects, total, readableCount }) => {
    const all = projects.map((visible) => projectWithIncludes(context, visible, includes))
    return pageDocument(request, {
      items: all.map(({ resource }) => resource),
      total,
      included: includes.size === 0 ? undefined : all.flatMap(({ included = [] }) => included),
      meta: { 'status-counts': { total: readableCount, matching: total } },
    })
  })
}

function projectWithIncludes(
  context: GovernanceContext,
  visible: VisibleProject,
  includes: ReadonlySet<string>,
) {
  const { tables } = context.store
  if (!includes.has('effective_tag_bindings'))
    return { resource: projectResource(tables, visible), included: undefined }
  const included = projectEffectiveTags(tables, visible.project.id).map(effectiveTagBindingResource)
  const ids = included.map(({ id }) => id)
  return { resource: projectResource(tables, visible, ids), included }
}

/** Returns the routes of the workload namespaces that a project's policy sets apply to. */
function namespaceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listProjectNamespaces, ({ caller, params }) =>
      mapResult(findProject(context, caller, params.project_id), ({ project }) => {
        const rows = context.store.tables.project_namespaces.rowsByIndex('project', project.id)
        return listDocument(rows.map(({ namespace }) => ({ id: namespace, type: 'namespaces' })))
      }),
    ),
    endpoint(
      v2Routes.addProjectNamespaces,
      async ({ caller, params, body }) =>
        mapResult(
          await addProjectNamespaces(context, caller, {
            projectId: params.project_id,
            namespaces: body.data.map(({ id }) => id),
          }),
          () => NO_CONTENT,
        ),
      {
        authorize: ({ caller, params }) => findUpdatableProject(context, caller, params.project_id),
      },
    ),
    endpoint(
      v2Routes.removeProjectNamespaces,
      async ({ caller, params, body }) =>
        mapResult(
          await removeProjectNamespaces(context, caller, {
            projectId: params.project_id,
            namespaces: body.data.map(({ id }) => id),
          }),
          () => NO_CONTENT,
        ),
      {
        authorize: ({ caller, params }) => findUpdatableProject(context, caller, params.project_id),
      },
    ),
  ]
}

/** Returns the routes of a project's tag bindings. */
export function projectTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  const draftRule = tagBindingRule('/data')
  const modes = {
    add: { isWholeSet: false },
    replace: { isWholeSet: true },
  }
  return [
    ...[v2Routes.listProjectTagBindings, v2Routes.listProjectTagBindingMembers].map((route) =>
      endpoint(route, ({ caller, params }) =>
        mapResult(findProject(context, caller, params.project_id), ({ project }) =>
          listDocument(ownTags(tables, project.id).map(tagBindingResource)),
        ),
      ),
    ),
    endpoint(v2Routes.listProjectEffectiveTagBindings, ({ caller, params }) =>
      mapResult(findProject(context, caller, params.project_id), ({ project }) =>
        listDocument(projectEffectiveTags(tables, project.id).map(effectiveTagBindingResource)),
      ),
    ),
    endpoint(
      v2Routes.updateProjectTagBindings,
      async ({ caller, params, body }) =>
        mapResult(
          await changeProjectTags(context, caller, {
            ...modes.add,
            projectId: params.project_id,
            tags: body.data,
          }),
          (named) => listDocument(named.map(changedTagBindingResource)),
        ),
      {
        authorize: ({ caller, params }) =>
          findTaggableProject(context, caller, { ...modes.add, projectId: params.project_id }),
        crossFieldRule: draftRule,
      },
    ),
    ...(['addProjectTagBindings', 'replaceProjectTagBindings'] as const).map((id) => {
      const mode = id === 'addProjectTagBindings' ? modes.add : modes.replace
      return endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          mapResult(
            await changeProjectTags(context, caller, {
              ...mode,
              projectId: params.project_id,
              tags: body.data,
            }),
            () => NO_CONTENT,
          ),
        {
          authorize: ({ caller, params }) =>
            findTaggableProject(context, caller, { ...mode, projectId: params.project_id }),
          crossFieldRule: draftRule,
        },
      )
    }),
  ]
}
