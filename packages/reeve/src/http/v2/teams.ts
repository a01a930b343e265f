import { v2 } from '@reeve/contract'
import {
  changeTeamMembers,
  createTeam,
  deleteTeam,
  findShownUser,
  findTeam,
  findTeamMaker,
  findTeamWith,
  listTeams,
  updateTeam,
  type GovernanceContext,
  type MemberChange,
  type SeenTeam,
} from '../../governance/index.ts'
import { answer, created, NO_CONTENT, single, paged, windowOf } from './documents.ts'
import { endpoint, type Resource, type V2Endpoint } from './endpoint.ts'
import { split } from './query.ts'
import { membershipResource } from './resources/membership.ts'
import { teamResource } from './resources/team.ts'
import { userResource } from './resources/user.ts'

const { v2Routes, TEAM_INCLUDES } = v2

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
          part: query.q,
          names: names === undefined ? undefined : split(names),
          ...windowOf(request.page),
        })
        return answer(found, ({ teams, total }) =>
          paged(request, {
            items: teams.map((seen) => teamResource(context, seen)),
            total,
            included: includes.size === 0 ? undefined : includedOf(context, teams, includes),
          }),
        )
      },
      included,
    ),
    endpoint(
      v2Routes.createTeam,
      async ({ caller, params, body }) =>
        answer(
          await createTeam(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (seen) => created(teamResource(context, seen)),
        ),
      { guard: ({ caller, params }) => findTeamMaker(context, caller, params.organization_name) },
    ),
    endpoint(
      v2Routes.readTeam,
      ({ caller, params, includes }) =>
        answer(findTeam(context, caller, params.team_id), (seen) =>
          single(
            teamResource(context, seen),
            includes.size === 0 ? {} : { included: includedOf(context, [seen], includes) },
          ),
        ),
      included,
    ),
    endpoint(
      v2Routes.updateTeam,
      async ({ caller, params, body }) =>
        answer(
          await updateTeam(context, caller, { teamId: params.team_id, data: body.data }),
          (seen) => single(teamResource(context, seen)),
        ),
      {
        guard: ({ caller, params }) =>
          findTeamWith(context, caller, { teamId: params.team_id, right: 'update' }),
      },
    ),
    endpoint(v2Routes.deleteTeam, async ({ caller, params }) =>
      answer(await deleteTeam(context, caller, params.team_id), () => NO_CONTENT),
    ),
    ...MEMBER_ROUTES.map(({ id, ...mode }) => memberEndpoint(context, id, mode)),
  ]
}

const MEMBER_ROUTES = [
  { id: 'addTeamUsers', by: 'user', isRemoval: false },
  { id: 'removeTeamUsers', by: 'user', isRemoval: true },
  { id: 'addTeamMemberships', by: 'membership', isRemoval: false },
  { id: 'removeTeamMemberships', by: 'membership', isRemoval: true },
] as const

function memberEndpoint(
  context: GovernanceContext,
  id: (typeof MEMBER_ROUTES)[number]['id'],
  mode: Pick<MemberChange, 'by' | 'isRemoval'>,
): V2Endpoint {
  return endpoint(
    v2Routes[id],
    async ({ caller, params, body }) =>
      answer(
        await changeTeamMembers(context, caller, {
          ...mode,
          teamId: params.team_id,
          ids: body.data.map((member) => member.id),
        }),
        () => NO_CONTENT,
      ),
    {
      guard: ({ caller, params }) =>
        findTeamWith(context, caller, { teamId: params.team_id, right: 'updateMembers' }),
    },
  )
}

/** Only who the documents refer to can be attached by clients: its own team. */
function includedOf(
  context: GovernanceContext,
  teams: readonly SeenTeam[],
  includes: ReadonlySet<string>,
): readonly Resource[] {
  const { team_memberships: inTeams, organization_memberships: seats } = context.store.tables
  return teams.flatMap(({ team }) =>
    inTeams.rowsIn('team', team.id).flatMap(({ userId, membershipId }): readonly Resource[] => {
      const user = includes.has('users') ? findShownUser(context, userId) : undefined
      const seat = includes.has('organization_memberships') ? seats.find(membershipId) : undefined
      return [
        ...(user === undefined ? [] : [userResource(user)]),
        ...(seat === undefined ? [] : [membershipResource(context, seat, [team.id])]),
      ]
    }),
  )
}
