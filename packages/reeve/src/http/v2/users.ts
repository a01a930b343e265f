import { v2 } from '@reeve/contract'
import {
  createUser,
  deleteUser,
  findVisibleUser,
  isSiteAdministrator,
  listUsers,
  updateAccount,
  type GovernanceCaller,
  type GovernanceContext,
  acceptMembership,
  deleteMembership,
  findMembership,
  findOrganizationToManageMembers,
  findPublicUser,
  findTeam,
  inviteMember,
  listMemberships,
  listOwnMemberships,
  findOrganizationById,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { NOT_FOUND, type OrganizationMembershipRow } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  resourceDocument,
  pageDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type Resource, type V2Endpoint } from './endpoint.ts'
import { splitList } from './query.ts'
import {
  accountResource,
  adminUserResource,
  membershipResource,
  userResource,
} from './resources/users.ts'
import { organizationResource } from './resources/organization.ts'
import { teamResource } from './resources/team.ts'

const { v2Routes } = v2

/** Returns the routes for ping, the current account, and the users of the installation. */
export function accountEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const authorizeAdministrator = ({ caller }: { readonly caller: GovernanceCaller }) =>
    isSiteAdministrator(caller) ? ok(true) : err(NOT_FOUND)
  return [
    endpoint(v2Routes.ping, () => NO_CONTENT, { isPublic: true }),
    endpoint(v2Routes.readAccount, ({ caller }) =>
      resourceDocument(accountResource(context, caller)),
    ),
    endpoint(
      v2Routes.updateAccount,
      async ({ caller, body }) =>
        mapResult(await updateAccount(context, caller, body.data.attributes), () =>
          resourceDocument(accountResource(context, caller)),
        ),
      { authorize: ({ caller }) => (caller.kind === 'user' ? ok(true) : err(NOT_FOUND)) },
    ),
    endpoint(v2Routes.readUser, ({ caller, params }) =>
      mapResult(findVisibleUser(context, caller, params.user_id), (user) =>
        resourceDocument(userResource(user)),
      ),
    ),
    endpoint(v2Routes.listUsers, (request) =>
      mapResult(
        listUsers(context, request.caller, {
          part: request.query.q,
          ...offsetAndLimit(request.page),
        }),
        ({ keys, total }) => {
          const { users } = context.store.tables
          return pageDocument(request, {
            items: keys.map((id) => adminUserResource(users.get(id))),
            total,
          })
        },
      ),
    ),
    endpoint(
      v2Routes.createUser,
      async ({ caller, body }) =>
        mapResult(await createUser(context, caller, body.data.attributes), (user) =>
          createdDocument(adminUserResource(user)),
        ),
      { authorize: authorizeAdministrator },
    ),
    endpoint(v2Routes.deleteUser, async ({ caller, params }) =>
      mapResult(await deleteUser(context, caller, params.user_id), () => NO_CONTENT),
    ),
  ]
}

const { MEMBERSHIP_INCLUDES } = v2

/** Returns the routes of organization memberships. */
export function membershipEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: MEMBERSHIP_INCLUDES }
  return [
    listMembershipsEndpoint(context),
    endpoint(
      v2Routes.createOrganizationMembership,
      async ({ caller, params, body }) =>
        mapResult(
          await inviteMember(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (row) => {
            // Clients compare the new membership with one that is read with its user.
            const user = findPublicUser(context, row.userId)
            const users = user === undefined ? [] : [userResource(user)]
            return createdDocument(visibleMembership(context, caller, row), { included: users })
          },
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationToManageMembers(context, caller, params.organization_name),
      },
    ),
    endpoint(
      v2Routes.listOwnOrganizationMemberships,
      (request) =>
        mapResult(listOwnMemberships(context, request.caller), (rows) => {
          const { offset, limit } = offsetAndLimit(request.page)
          const onPage = rows.slice(offset, offset + limit)
          return pageDocument(request, {
            ...membershipsWithIncludes(context, request, onPage),
            total: rows.length,
          })
        }),
      included,
    ),
    endpoint(
      v2Routes.readOrganizationMembership,
      (request) =>
        mapResult(
          findMembership(context, request.caller, request.params.organization_membership_id),
          (row) => {
            const { included: more } = membershipsWithIncludes(context, request, [row])
            const resource = visibleMembership(context, request.caller, row)
            return resourceDocument(resource, more === undefined ? {} : { included: more })
          },
        ),
      included,
    ),
    endpoint(v2Routes.acceptOrganizationMembership, async ({ caller, params }) =>
      mapResult(await acceptMembership(context, caller, params.organization_membership_id), (row) =>
        resourceDocument(visibleMembership(context, caller, row)),
      ),
    ),
    endpoint(v2Routes.deleteOrganizationMembership, async ({ caller, params }) =>
      mapResult(
        await deleteMembership(context, caller, params.organization_membership_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}

function listMembershipsEndpoint(context: GovernanceContext): V2Endpoint {
  const { organization_memberships: table } = context.store.tables
  return endpoint(
    v2Routes.listOrganizationMemberships,
    (request) => {
      const { caller, params, query } = request
      const emails = query['filter[email]']
      const found = listMemberships(context, caller, {
        organizationName: params.organization_name,
        search: query.q,
        status: query['filter[status]'],
        emails: emails === undefined ? undefined : splitList(emails),
        ...offsetAndLimit(request.page),
      })
      return mapResult(found, ({ keys, total }) =>
        pageDocument(request, {
          ...membershipsWithIncludes(
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

function visibleMembership(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: OrganizationMembershipRow,
) {
  const ids = visibleTeams(context, caller, row).map(({ team }) => team.id)
  return membershipResource(context, row, ids)
}

/** Secret teams are also hidden in their members. */
function visibleTeams(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id }: OrganizationMembershipRow,
) {
  return context.store.tables.team_memberships
    .rowsByIndex('membership', id)
    .map(({ teamId }) => findTeam(context, caller, teamId))
    .flatMap((found) => (found.ok ? [found.value] : []))
}

interface IncludeRequest {
  readonly caller: GovernanceCaller
  readonly includes: ReadonlySet<string>
}

function membershipsWithIncludes(
  context: GovernanceContext,
  { caller, includes }: IncludeRequest,
  rows: readonly OrganizationMembershipRow[],
): { readonly items: readonly Resource[]; readonly included: readonly Resource[] | undefined } {
  const items = rows.map((row) => visibleMembership(context, caller, row))
  if (includes.size === 0) return { items, included: undefined }
  const included = rows.flatMap((row): readonly Resource[] => {
    const user = includes.has('user') ? findPublicUser(context, row.userId) : undefined
    const organization = includes.has('organization')
      ? findOrganizationById(context, caller, row.organizationId)
      : undefined
    const teams = includes.has('teams') ? visibleTeams(context, caller, row) : []
    return [
      ...(user === undefined ? [] : [userResource(user)]),
      ...teams.map((team) => teamResource(context, team)),
      ...(organization?.ok === true ? [organizationResource(organization.value)] : []),
    ]
  })
  return { items, included }
}
