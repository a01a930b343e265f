import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type TeamWorkspaceRow } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import { planValues } from './access-values.ts'
import { endAccess, giftProblems, saveAccess } from './given-access.ts'
import { WORKSPACE_LEVELS } from './levels.ts'
import { pageOf, seesTeam, type AccessPage, type Window } from './shown-accesses.ts'

/** The accesses to a workspace, without those of teams that stay secret. */
export function listWorkspaceAccesses(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: {
    readonly workspaceId: string
    readonly teamId?: string | undefined
    readonly window: Window
  },
): Result<AccessPage<TeamWorkspaceRow>, GovernanceRefusal> {
  const { workspaceId, teamId, window } = wish
  const seen = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'read' })
  if (!seen.ok) return seen
  const { team_workspaces: accesses } = context.store.tables
  const rows =
    teamId === undefined
      ? accesses.rowsIn('workspace', workspaceId)
      : accesses.rowsIn('pair', scopedKey(teamId, workspaceId))
  return ok(pageOf(context, { table: accesses, rows, seat: seen.value, window }))
}

/** An access that the caller may read, or change with `manageTeams`. */
export function findWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, right }: { readonly id: string; readonly right: 'read' | 'manageTeams' },
): Result<TeamWorkspaceRow, GovernanceRefusal> {
  const row = context.store.tables.team_workspaces.find(id)
  if (row === undefined) return err(UNSEEN)
  const address = { workspaceId: row.workspaceId }
  const seen = findWorkspaceWith(context, caller, { address, right })
  if (!seen.ok) return seen
  return seesTeam(context, seen.value, row.teamId) ? ok(row) : err(UNSEEN)
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
  const seen = findWorkspaceWith(context, caller, { address: { workspaceId }, right })
  if (!seen.ok) return seen
  const { organizationId, projectId } = seen.value.workspace
  const gift = { table: 'team_workspaces', teamId, targetId: workspaceId, organizationId } as const
  const forbidden = giftProblems(context, caller, gift)
  if (!forbidden.ok) return forbidden
  const { access, ...given } = attributes
  const pointer = '/data/attributes'
  const planned = planValues({ access, base: WORKSPACE_LEVELS[access], given, pointer })
  const problems = [...forbidden.value, ...planned.problems]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const id = newId(context.ids, 'team-workspaces')
  const { values } = planned
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
  const { access = before.access, ...given } = data.attributes ?? {}
  const base = access === before.access ? before.values : WORKSPACE_LEVELS[access]
  const { values, problems } = planValues({ access, base, given, pointer: '/data/attributes' })
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
  await endAccess(context, caller, { table: 'team_workspaces', row: found.value })
  return ok(undefined)
}
