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
  createProjectAccess,
  createWorkspaceAccess,
  deleteProjectAccess,
  deleteWorkspaceAccess,
  findProjectAccess,
  findWorkspaceAccess,
  listProjectAccesses,
  listWorkspaceAccesses,
  updateProjectAccess,
  updateWorkspaceAccess,
} from '../../governance/index.ts'
import type { TeamProjectRow, TeamWorkspaceRow } from '../../model/index.ts'
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
import { resourcePath, toOne } from './resources/links.ts'
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

/** Returns the routes of team access to projects and workspaces. */
export function teamAccessEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [...projectAccessEndpoints(context), ...workspaceAccessEndpoints(context)]
}

function projectAccessEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listTeamProjectAccesses, (request) =>
      mapResult(
        listProjectAccesses(context, request.caller, {
          projectId: request.query['filter[project][id]'],
          window: offsetAndLimit(request.page),
        }),
        ({ accesses, total }) =>
          pageDocument(request, { items: accesses.map(teamProjectResource), total }),
      ),
    ),
    endpoint(v2Routes.createTeamProjectAccess, async ({ caller, body }) =>
      mapResult(await createProjectAccess(context, caller, body.data), (row) =>
        createdDocument(teamProjectResource(row)),
      ),
    ),
    endpoint(v2Routes.readTeamProjectAccess, ({ caller, params }) =>
      mapResult(
        findProjectAccess(context, caller, { id: params.team_project_id, right: 'readTeams' }),
        (row) => resourceDocument(teamProjectResource(row)),
      ),
    ),
    endpoint(
      v2Routes.updateTeamProjectAccess,
      async ({ caller, params, body }) =>
        mapResult(
          await updateProjectAccess(context, caller, {
            id: params.team_project_id,
            data: body.data,
          }),
          (row) => resourceDocument(teamProjectResource(row)),
        ),
      {
        authorize: ({ caller, params }) =>
          findProjectAccess(context, caller, { id: params.team_project_id, right: 'manageTeams' }),
      },
    ),
    endpoint(v2Routes.deleteTeamProjectAccess, async ({ caller, params }) =>
      mapResult(
        await deleteProjectAccess(context, caller, params.team_project_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}

function workspaceAccessEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listTeamWorkspaceAccesses, (request) =>
      mapResult(
        listWorkspaceAccesses(context, request.caller, {
          workspaceId: request.query['filter[workspace][id]'],
          teamId: request.query['filter[team][id]'],
          window: offsetAndLimit(request.page),
        }),
        ({ accesses, total }) =>
          pageDocument(request, { items: accesses.map(teamWorkspaceResource), total }),
      ),
    ),
    endpoint(v2Routes.createTeamWorkspaceAccess, async ({ caller, body }) =>
      mapResult(await createWorkspaceAccess(context, caller, body.data), (row) =>
        createdDocument(teamWorkspaceResource(row)),
      ),
    ),
    endpoint(v2Routes.readTeamWorkspaceAccess, ({ caller, params }) =>
      mapResult(
        findWorkspaceAccess(context, caller, { id: params.team_workspace_id, right: 'read' }),
        (row) => resourceDocument(teamWorkspaceResource(row)),
      ),
    ),
    endpoint(
      v2Routes.updateTeamWorkspaceAccess,
      async ({ caller, params, body }) =>
        mapResult(
          await updateWorkspaceAccess(context, caller, {
            id: params.team_workspace_id,
            data: body.data,
          }),
          (row) => resourceDocument(teamWorkspaceResource(row)),
        ),
      {
        authorize: ({ caller, params }) =>
          findWorkspaceAccess(context, caller, {
            id: params.team_workspace_id,
            right: 'manageTeams',
          }),
      },
    ),
    endpoint(v2Routes.deleteTeamWorkspaceAccess, async ({ caller, params }) =>
      mapResult(
        await deleteWorkspaceAccess(context, caller, params.team_workspace_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}

/**
 * Returns a team's access to a project. Like access to workspaces, it shows the effective
 * permissions of the chosen access level.
 */
function teamProjectResource(row: TeamProjectRow): v2.TeamProjectAccess {
  return {
    id: row.id,
    type: 'team-projects',
    attributes: {
      access: row.access,
      'project-access': row.projectAccess,
      'workspace-access': row.workspaceAccess,
    },
    relationships: { team: toOne('teams', row.teamId), project: toOne('projects', row.projectId) },
    links: { self: resourcePath('team-projects', row.id) },
  }
}

function teamWorkspaceResource(row: TeamWorkspaceRow): v2.TeamWorkspaceAccess {
  return {
    id: row.id,
    type: 'team-workspaces',
    attributes: { access: row.access, ...row.values },
    relationships: {
      team: toOne('teams', row.teamId),
      workspace: toOne('workspaces', row.workspaceId),
    },
    links: { self: resourcePath('team-workspaces', row.id) },
  }
}
