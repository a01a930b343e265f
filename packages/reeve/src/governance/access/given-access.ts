import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Row } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findTeam } from '../teams/teams.ts'

/** Tables of team access, to projects and to workspaces. */
type AccessTable = 'team_projects' | 'team_workspaces'

interface NewAccess {
  readonly table: AccessTable
  readonly teamId: string
  /** ID of the project or workspace. */
  readonly targetId: string
  readonly organizationId: string
}

/**
 * Returns why a team cannot be given access. The team must be visible, in the same organization,
 * and without access so far.
 */
export function newAccessProblems(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, teamId, targetId, organizationId }: NewAccess,
): Result<readonly AttributeProblem[], GovernanceRefusal> {
  const team = findTeam(context, caller, teamId)
  if (!team.ok) return team
  if (team.value.team.organizationId !== organizationId) return err(NOT_FOUND)
  const isTaken = context.store.tables[table].countByIndex('pair', scopedKey(teamId, targetId)) > 0
  if (!isTaken) return ok([])
  const targetNoun = table === 'team_projects' ? 'project' : 'workspace'
  const detail = `Team has access to the ${targetNoun} already`
  return ok([{ pointer: '/data/relationships/team', detail }])
}

interface AccessWrite<N extends AccessTable> {
  readonly table: N
  /** Undefined for a new access. */
  readonly before?: Row<N>
  readonly after: Row<N>
}

export async function saveAccess<N extends AccessTable>(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, before, after }: AccessWrite<N>,
): Promise<void> {
  await commitWrite(context, {
    action: before === undefined ? 'TeamAccessCreated' : 'TeamAccessUpdated',
    caller,
    organizationId: after.organizationId,
    affectedIds: [after.id],
    changes: isEqual(before, after) ? [] : [put(table, after)],
  })
}

export async function deleteAccess<N extends AccessTable>(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, row }: { readonly table: N; readonly row: Row<N> },
): Promise<void> {
  await commitWrite(context, {
    action: 'TeamAccessDeleted',
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id],
    changes: [remove(table, row.id)],
  })
}
