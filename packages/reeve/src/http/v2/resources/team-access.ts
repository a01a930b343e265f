import type { v2 } from '@reeve/contract'
import type { TeamProjectRow, TeamWorkspaceRow } from '../../../model/index.ts'
import { resourcePath, toOne } from './links.ts'

/**
 * Returns a team's access to a project. Like access to workspaces, it shows the effective
 * permissions of the chosen access level.
 */
export function teamProjectResource(row: TeamProjectRow): v2.TeamProjectAccess {
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

export function teamWorkspaceResource(row: TeamWorkspaceRow): v2.TeamWorkspaceAccess {
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
