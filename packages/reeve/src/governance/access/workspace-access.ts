import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal, type TeamWorkspaceRow } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import {
  type AccessPage,
  canSeeTeam,
  deleteAccess,
  newAccessProblems,
  pageOfAccesses,
  type PageRange,
  resolveAccessValues,
  saveAccess,
  WORKSPACE_LEVELS,
} from './team-access.ts'

/** The accesses to a workspace, without those of teams that stay secret. */
export function listWorkspaceAccesses(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly workspaceId: string
    readonly teamId?: string | undefined
    readonly window: PageRange
  },
): Result<AccessPage<TeamWorkspaceRow>, GovernanceRefusal> {
  const { workspaceId, teamId, window } = request
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'read' })
  if (!found.ok) return found
  const { team_workspaces: accesses } = context.store.tables
  const rows =
    teamId === undefined
      ? accesses.rowsByIndex('workspace', workspaceId)
      : accesses.rowsByIndex('pair', scopedKey(teamId, workspaceId))
  return ok(pageOfAccesses(context, { table: accesses, rows, visible: found.value, window }))
}

/** An access that the caller may read, or change with `manageTeams`. */
export function findWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, right }: { readonly id: string; readonly right: 'read' | 'manageTeams' },
): Result<TeamWorkspaceRow, GovernanceRefusal> {
  const row = context.store.tables.team_workspaces.find(id)
  if (row === undefined) return err(NOT_FOUND)
  const address = { workspaceId: row.workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right })
  if (!found.ok) return found
  return canSeeTeam(context, found.value, row.teamId) ? ok(row) : err(NOT_FOUND)
}

/** Access is given to visible teams only. */
export async function createWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes, relationships }: v2.TeamWorkspaceAccessCreateRequest['data'],
): Promise<Result<TeamWorkspaceRow, GovernanceRefusal>> {
  const workspaceId = relationships.workspace.data.id
  const teamId = relationships.team.data.id
  const right = 'manageTeams'
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right })
  if (!found.ok) return found
  const { organizationId, projectId } = found.value.workspace
  const newAccess = {
    table: 'team_workspaces',
    teamId,
    targetId: workspaceId,
    organizationId,
  } as const
  const accessProblems = newAccessProblems(context, caller, newAccess)
  if (!accessProblems.ok) return accessProblems
  const { access, ...requested } = attributes
  const pointer = '/data/attributes'
  const resolved = resolveAccessValues({
    access,
    base: WORKSPACE_LEVELS[access],
    requested,
    pointer,
  })
  const problems = [...accessProblems.value, ...resolved.problems]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const id = newId(context.ids, 'team-workspaces')
  const { values } = resolved
  const row = { id, organizationId, teamId, workspaceId, projectId, access, values }
  await saveAccess(context, caller, { table: 'team_workspaces', after: row })
  return ok(row)
}

export async function updateWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly id: string
    readonly data: v2.TeamWorkspaceAccessUpdateRequest['data']
  },
): Promise<Result<TeamWorkspaceRow, GovernanceRefusal>> {
  const { id, data } = request
  const found = findWorkspaceAccess(context, caller, { id, right: 'manageTeams' })
  if (!found.ok) return found
  const { value: before } = found
  const { access = before.access, ...requested } = data.attributes ?? {}
  const base = access === before.access ? before.values : WORKSPACE_LEVELS[access]
  const { values, problems } = resolveAccessValues({
    access,
    base,
    requested,
    pointer: '/data/attributes',
  })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const row: TeamWorkspaceRow = { ...before, access, values }
  await saveAccess(context, caller, { table: 'team_workspaces', before, after: row })
  return ok(row)
}

export async function deleteWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findWorkspaceAccess(context, caller, { id, right: 'manageTeams' })
  if (!found.ok) return found
  await deleteAccess(context, caller, { table: 'team_workspaces', row: found.value })
  return ok(undefined)
}
