import type { v2 } from '@reeve/contract'
import type { TeamProjectRow, TeamWorkspaceRow } from '../../../model/index.ts'
import { pathOf, toOne } from './links.ts'

/** Both objects show the effective values, whatever the level is. */
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
    links: { self: pathOf('team-projects', row.id) },
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
    links: { self: pathOf('team-workspaces', row.id) },
  }
}
