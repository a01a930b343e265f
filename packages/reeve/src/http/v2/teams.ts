import { v2 } from '@reeve/contract'
import {
  changeTeamMembers,
  createTeam,
  deleteTeam,
  findPublicUser,
  findTeam,
  findOrganizationForNewTeam,
  findTeamWith,
  listTeams,
  updateTeam,
  type GovernanceContext,
  type TeamMemberChange,
  type VisibleTeam,
} from '../../governance/index.ts'
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
import { membershipResource, userResource } from './resources/users.ts'
import { teamResource } from './resources/team.ts'

const { v2Routes } = v2
const { TEAM_INCLUDES } = v2

export function teamEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: TEAM_INCLUDES }
  return [
    endpoint(
      v2Routes.listTeams,
      (request) => {
        const { caller, params, query, includes } = request
        const names = query['filter[names]']
        const found = listTeams(context, caller, {
          organizationName: params.organization_name,
          nameContains: query.q,
          names: names === undefined ? undefined : splitList(names),
          ...offsetAndLimit(request.page),
        })
        return mapResult(found, ({ teams, total }) =>
          pageDocument(request, {
            items: teams.map((visible) => teamResource(context, visible)),
            total,
            included: includes.size === 0 ? undefined : includedMembers(context, teams, includes),
          }),
        )
      },
      included,
    ),
    endpoint(
      v2Routes.createTeam,
      async ({ caller, params, body }) =>
        mapResult(
          await createTeam(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (visible) => createdDocument(teamResource(context, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationForNewTeam(context, caller, params.organization_name),
      },
    ),
    endpoint(
      v2Routes.readTeam,
      ({ caller, params, includes }) =>
        mapResult(findTeam(context, caller, params.team_id), (visible) =>
          resourceDocument(
            teamResource(context, visible),
            includes.size === 0 ? {} : { included: includedMembers(context, [visible], includes) },
          ),
        ),
      included,
    ),
    endpoint(
      v2Routes.updateTeam,
      async ({ caller, params, body }) =>
        mapResult(
          await updateTeam(context, caller, { teamId: params.team_id, data: body.data }),
          (visible) => resourceDocument(teamResource(context, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findTeamWith(context, caller, { teamId: params.team_id, right: 'update' }),
      },
    ),
    endpoint(v2Routes.deleteTeam, async ({ caller, params }) =>
      mapResult(await deleteTeam(context, caller, params.team_id), () => NO_CONTENT),
    ),
    ...MEMBER_ROUTES.map(({ id, ...mode }) => memberEndpoint(context, id, mode)),
  ]
}

const MEMBER_ROUTES = [
  { id: 'addTeamUsers', idType: 'user', isRemoval: false },
  { id: 'removeTeamUsers', idType: 'user', isRemoval: true },
  { id: 'addTeamMemberships', idType: 'membership', isRemoval: false },
  { id: 'removeTeamMemberships', idType: 'membership', isRemoval: true },
] as const

function memberEndpoint(
  context: GovernanceContext,
  id: (typeof MEMBER_ROUTES)[number]['id'],
  mode: Pick<TeamMemberChange, 'idType' | 'isRemoval'>,
): V2Endpoint {
  return endpoint(
    v2Routes[id],
    async ({ caller, params, body }) =>
      mapResult(
        await changeTeamMembers(context, caller, {
          ...mode,
          teamId: params.team_id,
          ids: body.data.map((member) => member.id),
        }),
        () => NO_CONTENT,
      ),
    {
      authorize: ({ caller, params }) =>
        findTeamWith(context, caller, { teamId: params.team_id, right: 'updateMembers' }),
    },
  )
}

/**
 * Returns the included users and memberships. A membership names only this team: clients cannot
 * attach others.
 */
function includedMembers(
  context: GovernanceContext,
  teams: readonly VisibleTeam[],
  includes: ReadonlySet<string>,
): readonly Resource[] {
  const { team_memberships: teamMemberships, organization_memberships: memberships } =
    context.store.tables
  return teams.flatMap(({ team }) =>
    teamMemberships
      .rowsByIndex('team', team.id)
      .flatMap(({ userId, membershipId }): readonly Resource[] => {
        const user = includes.has('users') ? findPublicUser(context, userId) : undefined
        const membership = includes.has('organization_memberships')
          ? memberships.find(membershipId)
          : undefined
        return [
          ...(user === undefined ? [] : [userResource(user)]),
          ...(membership === undefined ? [] : [membershipResource(context, membership, [team.id])]),
        ]
      }),
  )
}
