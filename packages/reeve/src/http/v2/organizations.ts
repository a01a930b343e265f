import { v2 } from '@reeve/contract'
import {
  createOrganization,
  deleteOrganization,
  findOwnedOrganization,
  findProject,
  findSeat,
  listOrganizations,
  mayCreateOrganizations,
  seatIn,
  updateOrganization,
  type GovernanceCaller,
  type GovernanceContext,
  type Seat,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { UNSEEN } from '../../model/index.ts'
import { answer, created, NO_CONTENT, single, pagedOnRequest, windowOf } from './documents.ts'
import { endpoint, type Resource, type V2Endpoint } from './endpoint.ts'
import { entitlementSetResource, organizationResource } from './resources/organization.ts'
import { projectResource } from './resources/project.ts'

const { v2Routes, ORGANIZATION_INCLUDES } = v2

/** Organizations and what they may use. */
export function organizationEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: ORGANIZATION_INCLUDES }
  return [
    listEndpoint(context),
    endpoint(
      v2Routes.createOrganization,
      async ({ caller, body }) =>
        answer(await createOrganization(context, caller, body.data), (seat) =>
          // Always with the entitlement set.
          created(organizationResource(seat), {
            included: [entitlementSetResource(seat.organization)],
          }),
        ),
      { guard: ({ caller }) => (mayCreateOrganizations(caller) ? ok(true) : err(UNSEEN)) },
    ),
    endpoint(
      v2Routes.readOrganization,
      ({ caller, params, includes }) =>
        answer(findSeat(context, caller, params.organization_name), (seat) =>
          single(
            organizationResource(seat),
            includes.size === 0
              ? {}
              : { included: includedOf(context, { caller, seats: [seat], includes }) },
          ),
        ),
      included,
    ),
    endpoint(
      v2Routes.updateOrganization,
      async ({ caller, params, body }) =>
        answer(
          await updateOrganization(context, caller, {
            name: params.organization_name,
            data: body.data,
          }),
          (seat) => single(organizationResource(seat)),
        ),
      {
        guard: ({ caller, params }) =>
          findOwnedOrganization(context, caller, params.organization_name),
      },
    ),
    endpoint(v2Routes.deleteOrganization, async ({ caller, params }) =>
      answer(await deleteOrganization(context, caller, params.organization_name), () => NO_CONTENT),
    ),
    endpoint(v2Routes.readEntitlementSet, ({ caller, params }) =>
      answer(findSeat(context, caller, params.organization_name), ({ organization }) =>
        single(entitlementSetResource(organization)),
      ),
    ),
  ]
}

function listEndpoint(context: GovernanceContext): V2Endpoint {
  return endpoint(
    v2Routes.listOrganizations,
    (request) => {
      const { caller, query, page, includes } = request
      const part = listOrganizations(context, caller, {
        any: query.q,
        name: query['q[name]'],
        email: query['q[email]'],
        ...(page.isAsked ? windowOf(page) : { skip: 0, take: Infinity }),
      })
      const seats = part.keys.flatMap((id) => {
        const seat = seatIn(context, caller, id)
        return seat.ok ? [seat.value] : []
      })
      return pagedOnRequest(request, {
        items: seats.map(organizationResource),
        total: part.total,
        included:
          includes.size === 0 ? undefined : includedOf(context, { caller, seats, includes }),
      })
    },
    { includes: ORGANIZATION_INCLUDES },
  )
}

interface Including {
  readonly caller: GovernanceCaller
  readonly seats: readonly Seat[]
  readonly includes: ReadonlySet<string>
}

/** A default project that the caller may not read is left out, like everything unseen. */
function includedOf(
  context: GovernanceContext,
  { caller, seats, includes }: Including,
): readonly Resource[] {
  return seats.flatMap(({ organization }) => {
    const project = includes.has('default_project')
      ? findProject(context, caller, organization.defaultProjectId)
      : undefined
    return [
      ...(includes.has('entitlement_set') ? [entitlementSetResource(organization)] : []),
      ...(project?.ok === true ? [projectResource(context.store.tables, project.value)] : []),
    ]
  })
}
