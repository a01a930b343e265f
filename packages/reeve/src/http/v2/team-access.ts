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
import { answer, created, NO_CONTENT, paged, single, windowOf } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { teamProjectResource, teamWorkspaceResource } from './resources/team-access.ts'

const { v2Routes } = v2

/** Returns the routes of team access to projects and workspaces. */
export function teamAccessEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [...projectAccessEndpoints(context), ...workspaceAccessEndpoints(context)]
}

function projectAccessEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listTeamProjectAccesses, (request) =>
      answer(
        listProjectAccesses(context, request.caller, {
          projectId: request.query['filter[project][id]'],
          window: windowOf(request.page),
        }),
        ({ accesses, total }) =>
          paged(request, { items: accesses.map(teamProjectResource), total }),
      ),
    ),
    endpoint(v2Routes.createTeamProjectAccess, async ({ caller, body }) =>
      answer(await createProjectAccess(context, caller, body.data), (row) =>
        created(teamProjectResource(row)),
      ),
    ),
    endpoint(v2Routes.readTeamProjectAccess, ({ caller, params }) =>
      answer(
        findProjectAccess(context, caller, { id: params.team_project_id, right: 'readTeams' }),
        (row) => single(teamProjectResource(row)),
      ),
    ),
    endpoint(
      v2Routes.updateTeamProjectAccess,
      async ({ caller, params, body }) =>
        answer(
          await updateProjectAccess(context, caller, {
            id: params.team_project_id,
            data: body.data,
          }),
          (row) => single(teamProjectResource(row)),
        ),
      {
        guard: ({ caller, params }) =>
          findProjectAccess(context, caller, { id: params.team_project_id, right: 'manageTeams' }),
      },
    ),
    endpoint(v2Routes.deleteTeamProjectAccess, async ({ caller, params }) =>
      answer(await deleteProjectAccess(context, caller, params.team_project_id), () => NO_CONTENT),
    ),
  ]
}

function workspaceAccessEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listTeamWorkspaceAccesses, (request) =>
      answer(
        listWorkspaceAccesses(context, request.caller, {
          workspaceId: request.query['filter[workspace][id]'],
          teamId: request.query['filter[team][id]'],
          window: windowOf(request.page),
        }),
        ({ accesses, total }) =>
          paged(request, { items: accesses.map(teamWorkspaceResource), total }),
      ),
    ),
    endpoint(v2Routes.createTeamWorkspaceAccess, async ({ caller, body }) =>
      answer(await createWorkspaceAccess(context, caller, body.data), (row) =>
        created(teamWorkspaceResource(row)),
      ),
    ),
    endpoint(v2Routes.readTeamWorkspaceAccess, ({ caller, params }) =>
      answer(
        findWorkspaceAccess(context, caller, { id: params.team_workspace_id, right: 'read' }),
        (row) => single(teamWorkspaceResource(row)),
      ),
    ),
    endpoint(
      v2Routes.updateTeamWorkspaceAccess,
      async ({ caller, params, body }) =>
        answer(
          await updateWorkspaceAccess(context, caller, {
            id: params.team_workspace_id,
            data: body.data,
          }),
          (row) => single(teamWorkspaceResource(row)),
        ),
      {
        guard: ({ caller, params }) =>
          findWorkspaceAccess(context, caller, {
            id: params.team_workspace_id,
            right: 'manageTeams',
          }),
      },
    ),
    endpoint(v2Routes.deleteTeamWorkspaceAccess, async ({ caller, params }) =>
      answer(
        await deleteWorkspaceAccess(context, caller, params.team_workspace_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}
