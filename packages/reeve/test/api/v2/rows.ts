import { PROJECT_LEVELS, WORKSPACE_LEVELS } from '../../../src/governance/index.ts'
import type { TeamProjectRow, TeamWorkspaceRow, WorkspaceRow } from '../../../src/model/index.ts'
import { put, type Change } from '../../../src/state/index.ts'
import { aWorkspaceRow } from '../../build/governance.ts'
import type { GovernanceServer } from './harness.ts'

/** Writes rows that no route is about here. */
async function store(it: GovernanceServer, ...changes: readonly Change[]): Promise<void> {
  await it.server.context.store.commit({ by: 'system', cause: undefined, changes: () => changes })
    .durable
}

/** Stores a workspace in a project. */
export async function aWorkspace(
  it: GovernanceServer,
  projectId: string,
  fields: { readonly id: string } & Partial<WorkspaceRow>,
): Promise<WorkspaceRow> {
  const { organizationId } = it.server.context.store.tables.projects.get(projectId)
  const row = aWorkspaceRow({ organizationId, projectId, ...fields })
  await store(it, put('workspaces', row))
  return row
}

/** Gives a team a level of access to a project. */
export async function giveProject(
  it: GovernanceServer,
  { teamId, projectId }: Pick<TeamProjectRow, 'teamId' | 'projectId'>,
  access: Exclude<TeamProjectRow['access'], 'custom'>,
): Promise<void> {
  const { organizationId } = it.server.context.store.tables.projects.get(projectId)
  const id = `tprj-${teamId}-${projectId}`
  const row = { id, organizationId, teamId, projectId, access, ...PROJECT_LEVELS[access] }
  await store(it, put('team_projects', row))
}

/** Gives a team a level of access to a workspace. */
export async function giveWorkspace(
  it: GovernanceServer,
  { teamId, workspaceId }: Pick<TeamWorkspaceRow, 'teamId' | 'workspaceId'>,
  access: Exclude<TeamWorkspaceRow['access'], 'custom'>,
): Promise<void> {
  const { organizationId, projectId } = it.server.context.store.tables.workspaces.get(workspaceId)
  const id = `tws-${teamId}-${workspaceId}`
  const values = WORKSPACE_LEVELS[access]
  const row = { id, organizationId, teamId, workspaceId, projectId, access, values }
  await store(it, put('team_workspaces', row))
}
