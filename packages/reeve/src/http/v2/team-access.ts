import { v2 } from '@reeve/contract'
import {
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
  type GovernanceContext,
} from '../../governance/index.ts'
import type { TeamProjectRow, TeamWorkspaceRow } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { resourcePath, toOne } from './resources/links.ts'

const { v2Routes } = v2

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
