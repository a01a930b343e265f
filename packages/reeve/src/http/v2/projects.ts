import { v2 } from '@reeve/contract'
import {
  addProjectNamespaces,
  createProject,
  deleteProject,
  findChangeableProject,
  findDestination,
  findProject,
  findProjectMaker,
  listProjects,
  moveWorkspaces,
  projectEffectiveTags,
  removeProjectNamespaces,
  updateProject,
  type GovernanceContext,
  type ProjectRight,
  type SeenProject,
} from '../../governance/index.ts'
import { answer, created, NO_CONTENT, single, paged, whole, windowOf } from './documents.ts'
import { RELATED_TAGS_RULE } from './draft.ts'
import { endpoint, type V2Endpoint, type V2Request } from './endpoint.ts'
import { split } from './query.ts'
import { createdProjectResource, projectResource } from './resources/project.ts'
import { effectiveTagBindingResource } from './resources/tag-binding.ts'
import { tagFilters } from './tag-filters.ts'

const { v2Routes, PROJECT_INCLUDES } = v2

export function projectEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.createProject,
      async ({ caller, params, body }) =>
        answer(
          await createProject(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (seen) => created(createdProjectResource(seen)),
        ),
      {
        guard: ({ caller, params }) => findProjectMaker(context, caller, params.organization_name),
        draftRule: RELATED_TAGS_RULE,
      },
    ),
    endpoint(v2Routes.listProjects, (request) => answerList(context, request), {
      includes: PROJECT_INCLUDES,
    }),
    endpoint(
      v2Routes.readProject,
      ({ caller, params, includes }) =>
        answer(findProject(context, caller, params.project_id), (seen) => {
          const { resource, included } = shown(context, seen, includes)
          return single(resource, included === undefined ? {} : { included })
        }),
      { includes: PROJECT_INCLUDES },
    ),
    endpoint(
      v2Routes.updateProject,
      async ({ caller, params, body }) =>
        answer(
          await updateProject(context, caller, { projectId: params.project_id, data: body.data }),
          (seen) => single(projectResource(context.store.tables, seen)),
        ),
      {
        guard: ({ caller, params }) => findChangeableProject(context, caller, params.project_id),
        draftRule: RELATED_TAGS_RULE,
      },
    ),
    endpoint(v2Routes.deleteProject, async ({ caller, params, query }) =>
      answer(
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
        answer(
          await moveWorkspaces(context, caller, {
            projectId: params.project_id,
            workspaceIds: body.data.map(({ id }) => id),
          }),
          () => NO_CONTENT,
        ),
      { guard: ({ caller, params }) => findDestination(context, caller, params.project_id) },
    ),
    ...namespaceEndpoints(context),
  ]
}

type ListRequest = V2Request<typeof v2Routes.listProjects>

const RIGHT_FILTERS = [
  ['filter[permissions][create-workspace]', 'createWorkspace'],
  ['filter[permissions][update]', 'update'],
  ['filter[permissions][move-workspace]', 'moveWorkspace'],
] as const satisfies readonly (readonly [keyof ListRequest['query'], ProjectRight])[]

function answerList(context: GovernanceContext, request: ListRequest) {
  const { caller, params, query, page, includes } = request
  const names = query['filter[names]']
  const tags = tagFilters(query)
  if (!tags.ok) return tags
  const result = listProjects(context, caller, {
    organizationName: params.organization_name,
    part: query.q,
    names: names === undefined ? undefined : split(names),
    tags: tags.value,
    rights: RIGHT_FILTERS.flatMap(([name, right]) => (query[name] === true ? [right] : [])),
    // Newest first, so that pages are stable while projects are added.
    order: query.sort ?? 'newest',
    ...windowOf(page),
  })
  return answer(result, ({ projects, total, readable }) => {
    const all = projects.map((seen) => shown(context, seen, includes))
    return paged(request, {
      items: all.map(({ resource }) => resource),
      total,
      included: includes.size === 0 ? undefined : all.flatMap(({ included = [] }) => included),
      meta: { 'status-counts': { total: readable, matching: total } },
    })
  })
}

function shown(context: GovernanceContext, seen: SeenProject, includes: ReadonlySet<string>) {
  const { tables } = context.store
  if (!includes.has('effective_tag_bindings'))
    return { resource: projectResource(tables, seen), included: undefined }
  const included = projectEffectiveTags(tables, seen.project.id).map(effectiveTagBindingResource)
  const ids = included.map(({ id }) => id)
  return { resource: projectResource(tables, seen, ids), included }
}

/** Workload namespaces that a project's policy sets guard. */
function namespaceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listProjectNamespaces, ({ caller, params }) =>
      answer(findProject(context, caller, params.project_id), ({ project }) => {
        const rows = context.store.tables.project_namespaces.rowsIn('project', project.id)
        return whole(rows.map(({ namespace }) => ({ id: namespace, type: 'namespaces' })))
      }),
    ),
    endpoint(
      v2Routes.addProjectNamespaces,
      async ({ caller, params, body }) =>
        answer(
          await addProjectNamespaces(context, caller, {
            projectId: params.project_id,
            namespaces: body.data.map(({ id }) => id),
          }),
          () => NO_CONTENT,
        ),
      { guard: ({ caller, params }) => findChangeableProject(context, caller, params.project_id) },
    ),
    endpoint(
      v2Routes.removeProjectNamespaces,
      async ({ caller, params, body }) =>
        answer(
          await removeProjectNamespaces(context, caller, {
            projectId: params.project_id,
            namespaces: body.data.map(({ id }) => id),
          }),
          () => NO_CONTENT,
        ),
      { guard: ({ caller, params }) => findChangeableProject(context, caller, params.project_id) },
    ),
  ]
}
