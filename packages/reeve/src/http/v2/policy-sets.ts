import { v2 } from '@reeve/contract'
import {
  createPolicySet,
  deletePolicySet,
  findPolicyOrganization,
  findPolicySet,
  listPolicySets,
  updatePolicySet,
  type GovernanceContext,
  findPolicy,
  findProject,
  findVersion,
  findWorkspace,
  listMemberIds,
  type GovernanceCaller,
  type VisiblePolicySet,
  changeSetMembers,
  changeTagSelectors,
} from '../../governance/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import {
  policyResource,
  policySetResource,
  policySetVersionResource,
} from './resources/policy-set.ts'
import { projectResource } from './resources/project.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes } = v2
const { POLICY_SET_INCLUDES } = v2

export function policySetEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  const includes = { includes: POLICY_SET_INCLUDES }
  return [
    endpoint(v2Routes.listPolicySets, (request) => listResponse(context, request), includes),
    endpoint(
      v2Routes.createPolicySet,
      async ({ caller, params, body }) =>
        mapResult(
          await createPolicySet(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (visible) => createdDocument(policySetResource(tables, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findPolicyOrganization(context, caller, {
            organizationName: params.organization_name,
            right: 'update',
          }),
      },
    ),
    endpoint(
      v2Routes.readPolicySet,
      (request) => {
        const { caller, params } = request
        const found = findPolicySet(context, caller, {
          policySetId: params.policy_set_id,
          right: 'read',
        })
        return mapResult(found, (visible) =>
          resourceDocument(
            policySetResource(tables, visible),
            policySetIncludes(context, [visible], request),
          ),
        )
      },
      includes,
    ),
    endpoint(
      v2Routes.updatePolicySet,
      async ({ caller, params, body }) =>
        mapResult(
          await updatePolicySet(context, caller, {
            policySetId: params.policy_set_id,
            data: body.data,
          }),
          (visible) => resourceDocument(policySetResource(tables, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    endpoint(v2Routes.deletePolicySet, async ({ caller, params }) =>
      mapResult(await deletePolicySet(context, caller, params.policy_set_id), () => NO_CONTENT),
    ),
  ]
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listPolicySets>,
): JsonApiResult {
  const { caller, params, query, page } = request
  const found = listPolicySets(context, caller, {
    organizationName: params.organization_name,
    nameContains: query['search[name]'],
    kind: query['filter[kind]'],
    versioned: query['filter[versioned]'],
    ...offsetAndLimit(page),
  })
  return mapResult(found, ({ sets, total }) =>
    pageDocument(request, {
      items: sets.map((visible) => policySetResource(context.store.tables, visible)),
      total,
      ...policySetIncludes(context, sets, request),
    }),
  )
}

interface IncludeRequest {
  readonly caller: GovernanceCaller
  readonly includes: ReadonlySet<string>
}

/** Returns the objects that sets refer to and the caller may read; others remain identifiers. */
function policySetIncludes(
  context: GovernanceContext,
  sets: readonly VisiblePolicySet[],
  { caller, includes }: IncludeRequest,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const requested = INCLUDES.filter(({ name }) => includes.has(name))
  return {
    included: sets.flatMap((visible) =>
      requested.flatMap(({ ids, find }) =>
        ids(context, visible).flatMap((id) => find(context, caller, id) ?? []),
      ),
    ),
  }
}

interface IncludeSpec {
  readonly name: (typeof v2.POLICY_SET_INCLUDES)[number]
  readonly ids: (context: GovernanceContext, seen: VisiblePolicySet) => readonly string[]
  readonly find: (
    context: GovernanceContext,
    caller: GovernanceCaller,
    id: string,
  ) => Resource | undefined
}

const INCLUDES: readonly IncludeSpec[] = [
  { name: 'policies', ids: memberIds('policies'), find: findPolicyResource },
  { name: 'workspaces', ids: memberIds('workspaces'), find: findWorkspaceResource },
  {
    name: 'workspace_exclusions',
    ids: memberIds('workspace-exclusions'),
    find: findWorkspaceResource,
  },
  { name: 'projects', ids: memberIds('projects'), find: findProjectResource },
  { name: 'project_exclusions', ids: memberIds('project-exclusions'), find: findProjectResource },
  {
    name: 'current_version',
    ids: (_, { set }) => optionalId(set.currentVersionId),
    find: findVersionResource,
  },
  {
    name: 'newest_version',
    ids: (_, { set }) => optionalId(set.newestVersionId),
    find: findVersionResource,
  },
]

function memberIds(relation: Parameters<typeof listMemberIds>[2]): IncludeSpec['ids'] {
  return ({ store }, { set }) => listMemberIds(store.tables, set.id, relation)
}

function optionalId(id: string | null): readonly string[] {
  return id === null ? [] : [id]
}

function findPolicyResource(...[context, caller, policyId]: Parameters<IncludeSpec['find']>) {
  const visible = findPolicy(context, caller, { policyId, right: 'read' })
  return visible.ok ? policyResource(context.store.tables, visible.value) : undefined
}

function findWorkspaceResource(...[context, caller, workspaceId]: Parameters<IncludeSpec['find']>) {
  const visible = findWorkspace(context, caller, { workspaceId })
  return visible.ok ? workspaceResource(context, visible.value) : undefined
}

function findProjectResource(...[context, caller, id]: Parameters<IncludeSpec['find']>) {
  const visible = findProject(context, caller, id)
  return visible.ok ? projectResource(context.store.tables, visible.value) : undefined
}

function findVersionResource(...[context, caller, versionId]: Parameters<IncludeSpec['find']>) {
  const visible = findVersion(context, caller, { versionId, right: 'read' })
  return visible.ok ? policySetVersionResource(visible.value.version) : undefined
}

/** Returns the routes that add and remove members and selectors of a policy set. */
export function policySetMemberEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...MEMBER_ROUTES.map((one) => memberEndpoint(context, one)),
    ...SELECTOR_ROUTES.map(({ id, isRemoval }) =>
      endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          mapResult(
            await changeTagSelectors(context, caller, {
              policySetId: params.policy_set_id,
              selectors: body.data,
              isRemoval,
            }),
            () => NO_CONTENT,
          ),
        {
          authorize: ({ caller, params }) =>
            findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
        },
      ),
    ),
  ]
}

const MEMBER_ROUTES = [
  { id: 'addPolicySetPolicies', relation: 'policies', isRemoval: false },
  { id: 'removePolicySetPolicies', relation: 'policies', isRemoval: true },
  { id: 'addPolicySetProjects', relation: 'projects', isRemoval: false },
  { id: 'removePolicySetProjects', relation: 'projects', isRemoval: true },
  { id: 'addPolicySetWorkspaces', relation: 'workspaces', isRemoval: false },
  { id: 'removePolicySetWorkspaces', relation: 'workspaces', isRemoval: true },
  { id: 'addPolicySetNamespaces', relation: 'namespaces', isRemoval: false },
  { id: 'removePolicySetNamespaces', relation: 'namespaces', isRemoval: true },
  {
    id: 'addPolicySetWorkspaceExclusions',
    relation: 'workspace-exclusions',
    isRemoval: false,
  },
  {
    id: 'removePolicySetWorkspaceExclusions',
    relation: 'workspace-exclusions',
    isRemoval: true,
  },
  { id: 'addPolicySetProjectExclusions', relation: 'project-exclusions', isRemoval: false },
  { id: 'removePolicySetProjectExclusions', relation: 'project-exclusions', isRemoval: true },
] as const

const SELECTOR_ROUTES = [
  { id: 'addPolicySetTagSelectors', isRemoval: false },
  { id: 'removePolicySetTagSelectors', isRemoval: true },
] as const

function memberEndpoint(
  context: GovernanceContext,
  { id, relation, isRemoval }: (typeof MEMBER_ROUTES)[number],
): V2Endpoint {
  return endpoint(
    v2Routes[id],
    async ({ caller, params, body }) =>
      mapResult(
        await changeSetMembers(context, caller, {
          policySetId: params.policy_set_id,
          relation,
          ids: body.data.map((member) => member.id),
          isRemoval,
        }),
        () => NO_CONTENT,
      ),
    {
      authorize: ({ caller, params }) =>
        findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
    },
  )
}
