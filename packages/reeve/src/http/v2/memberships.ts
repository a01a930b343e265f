import { v2 } from '@reeve/contract'
import {
  acceptMembership,
  deleteMembership,
  findMembership,
  findMemberManager,
  findShownUser,
  findTeam,
  inviteMember,
  listMemberships,
  ownMemberships,
  seatIn,
  type GovernanceCaller,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { OrganizationMembershipRow } from '../../model/index.ts'
import { answer, created, NO_CONTENT, single, paged, windowOf } from './documents.ts'
import { endpoint, type Resource, type V2Endpoint } from './endpoint.ts'
import { split } from './query.ts'
import { membershipResource } from './resources/membership.ts'
import { organizationResource } from './resources/organization.ts'
import { teamResource } from './resources/team.ts'
import { userResource } from './resources/user.ts'

const { v2Routes, MEMBERSHIP_INCLUDES } = v2

/** Users in organizations. */
export function membershipEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: MEMBERSHIP_INCLUDES }
  return [
    listEndpoint(context),
    endpoint(
      v2Routes.createOrganizationMembership,
      async ({ caller, params, body }) =>
        answer(
          await inviteMember(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (row) => {
            // Clients compare the new membership with one that is read with its user.
            const user = findShownUser(context, row.userId)
            const users = user === undefined ? [] : [userResource(user)]
            return created(shown(context, caller, row), { included: users })
          },
        ),
      {
        guard: ({ caller, params }) => findMemberManager(context, caller, params.organization_name),
      },
    ),
    endpoint(
      v2Routes.listOwnOrganizationMemberships,
      (request) =>
        answer(ownMemberships(context, request.caller), (rows) => {
          const { skip, take } = windowOf(request.page)
          const onPage = rows.slice(skip, skip + take)
          return paged(request, { ...shownRows(context, request, onPage), total: rows.length })
        }),
      included,
    ),
    endpoint(
      v2Routes.readOrganizationMembership,
      (request) =>
        answer(
          findMembership(context, request.caller, request.params.organization_membership_id),
          (row) => {
            const { included: more } = shownRows(context, request, [row])
            const resource = shown(context, request.caller, row)
            return single(resource, more === undefined ? {} : { included: more })
          },
        ),
      included,
    ),
    endpoint(v2Routes.acceptOrganizationMembership, async ({ caller, params }) =>
      answer(await acceptMembership(context, caller, params.organization_membership_id), (row) =>
        single(shown(context, caller, row)),
      ),
    ),
    endpoint(v2Routes.deleteOrganizationMembership, async ({ caller, params }) =>
      answer(
        await deleteMembership(context, caller, params.organization_membership_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}

function listEndpoint(context: GovernanceContext): V2Endpoint {
  const { organization_memberships: table } = context.store.tables
  return endpoint(
    v2Routes.listOrganizationMemberships,
    (request) => {
      const { caller, params, query } = request
      const emails = query['filter[email]']
      const found = listMemberships(context, caller, {
        organizationName: params.organization_name,
        part: query.q,
        status: query['filter[status]'],
        emails: emails === undefined ? undefined : split(emails),
        ...windowOf(request.page),
      })
      return answer(found, ({ keys, total }) =>
        paged(request, {
          ...shownRows(
            context,
            request,
            keys.map((id) => table.get(id)),
          ),
          total,
        }),
      )
    },
    { includes: MEMBERSHIP_INCLUDES },
  )
}

function shown(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: OrganizationMembershipRow,
) {
  const ids = visibleTeams(context, caller, row).map(({ team }) => team.id)
  return membershipResource(context, row, ids)
}

/** Secret teams stay secret, also through their members. */
function visibleTeams(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id }: OrganizationMembershipRow,
) {
  return context.store.tables.team_memberships
    .rowsIn('membership', id)
    .map(({ teamId }) => findTeam(context, caller, teamId))
    .flatMap((found) => (found.ok ? [found.value] : []))
}

interface Including {
  readonly caller: GovernanceCaller
  readonly includes: ReadonlySet<string>
}

function shownRows(
  context: GovernanceContext,
  { caller, includes }: Including,
  rows: readonly OrganizationMembershipRow[],
): { readonly items: readonly Resource[]; readonly included: readonly Resource[] | undefined } {
  const items = rows.map((row) => shown(context, caller, row))
  if (includes.size === 0) return { items, included: undefined }
  const included = rows.flatMap((row): readonly Resource[] => {
    const user = includes.has('user') ? findShownUser(context, row.userId) : undefined
    const seat = includes.has('organization')
      ? seatIn(context, caller, row.organizationId)
      : undefined
    const teams = includes.has('teams') ? visibleTeams(context, caller, row) : []
    return [
      ...(user === undefined ? [] : [userResource(user)]),
      ...teams.map((team) => teamResource(context, team)),
      ...(seat?.ok === true ? [organizationResource(seat.value)] : []),
    ]
  })
  return { items, included }
}
