import { v2 } from '@reeve/contract'
import {
  createOrganization,
  deleteOrganization,
  findUpdatableOrganization,
  findProject,
  findOrganization,
  listOrganizations,
  mayCreateOrganizations,
  findOrganizationById,
  updateOrganization,
  type GovernanceCaller,
  type GovernanceContext,
  type VisibleOrganization,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { NOT_FOUND } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  resourceDocument,
  pageIfRequested,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type Resource, type V2Endpoint } from './endpoint.ts'
import { entitlementSetResource, organizationResource } from './resources/organization.ts'
import { projectResource } from './resources/project.ts'

const { v2Routes } = v2
const { ORGANIZATION_INCLUDES } = v2

/** Returns the routes of organizations and their entitlements. */
export function organizationEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: ORGANIZATION_INCLUDES }
  return [
    listOrganizationsEndpoint(context),
    endpoint(
      v2Routes.createOrganization,
      async ({ caller, body }) =>
        mapResult(await createOrganization(context, caller, body.data), (visible) =>
          // The response always includes the entitlement set.
          createdDocument(organizationResource(visible), {
            included: [entitlementSetResource(visible.organization)],
          }),
        ),
      { authorize: ({ caller }) => (mayCreateOrganizations(caller) ? ok(true) : err(NOT_FOUND)) },
    ),
    endpoint(
      v2Routes.readOrganization,
      ({ caller, params, includes }) =>
        mapResult(findOrganization(context, caller, params.organization_name), (visible) =>
          resourceDocument(
            organizationResource(visible),
            includes.size === 0
              ? {}
              : {
                  included: includedResources(context, {
                    caller,
                    organizations: [visible],
                    includes,
                  }),
                },
          ),
        ),
      included,
    ),
    endpoint(
      v2Routes.updateOrganization,
      async ({ caller, params, body }) =>
        mapResult(
          await updateOrganization(context, caller, {
            name: params.organization_name,
            data: body.data,
          }),
          (visible) => resourceDocument(organizationResource(visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findUpdatableOrganization(context, caller, params.organization_name),
      },
    ),
    endpoint(v2Routes.deleteOrganization, async ({ caller, params }) =>
      mapResult(
        await deleteOrganization(context, caller, params.organization_name),
        () => NO_CONTENT,
      ),
    ),
    endpoint(v2Routes.readEntitlementSet, ({ caller, params }) =>
      mapResult(findOrganization(context, caller, params.organization_name), ({ organization }) =>
        resourceDocument(entitlementSetResource(organization)),
      ),
    ),
  ]
}

function listOrganizationsEndpoint(context: GovernanceContext): V2Endpoint {
  return endpoint(
    v2Routes.listOrganizations,
    (request) => {
      const { caller, query, page, includes } = request
      const found = listOrganizations(context, caller, {
        nameOrEmail: query.q,
        name: query['q[name]'],
        email: query['q[email]'],
        ...(page.isExplicitPage ? offsetAndLimit(page) : { offset: 0, limit: Infinity }),
      })
      const organizations = found.keys.flatMap((id) => {
        const visible = findOrganizationById(context, caller, id)
        return visible.ok ? [visible.value] : []
      })
      return pageIfRequested(request, {
        items: organizations.map(organizationResource),
        total: found.total,
        included:
          includes.size === 0
            ? undefined
            : includedResources(context, { caller, organizations, includes }),
      })
    },
    { includes: ORGANIZATION_INCLUDES },
  )
}

interface IncludeRequest {
  readonly caller: GovernanceCaller
  readonly organizations: readonly VisibleOrganization[]
  readonly includes: ReadonlySet<string>
}

/** Returns the included resources. A default project that the caller may not read is omitted. */
function includedResources(
  context: GovernanceContext,
  { caller, organizations, includes }: IncludeRequest,
): readonly Resource[] {
  return organizations.flatMap(({ organization }) => {
    const project = includes.has('default_project')
      ? findProject(context, caller, organization.defaultProjectId)
      : undefined
    return [
      ...(includes.has('entitlement_set') ? [entitlementSetResource(organization)] : []),
      ...(project?.ok === true ? [projectResource(context.store.tables, project.value)] : []),
    ]
  })
}
