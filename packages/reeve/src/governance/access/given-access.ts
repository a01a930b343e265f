import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  UNSEEN,
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

interface Gift {
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
export function giftProblems(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, teamId, targetId, organizationId }: Gift,
): Result<readonly AttributeProblem[], GovernanceRefusal> {
  const team = findTeam(context, caller, teamId)
  if (!team.ok) return team
  if (team.value.team.organizationId !== organizationId) return err(UNSEEN)
  const isTaken = context.store.tables[table].countIn('pair', scopedKey(teamId, targetId)) > 0
  if (!isTaken) return ok([])
  const what = table === 'team_projects' ? 'project' : 'workspace'
  const detail = `Team has access to the ${what} already`
  return ok([{ pointer: '/data/relationships/team', detail }])
}

interface AccessChange<N extends AccessTable> {
  readonly table: N
  /** Undefined for a new access. */
  readonly before?: Row<N>
  readonly after: Row<N>
}

export async function saveAccess<N extends AccessTable>(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, before, after }: AccessChange<N>,
): Promise<void> {
  await commitWrite(context, {
    action: before === undefined ? 'TeamAccessCreated' : 'TeamAccessUpdated',
    caller,
    organizationId: after.organizationId,
    subjects: [after.id],
    changes: isEqual(before, after) ? [] : [put(table, after)],
  })
}

export async function endAccess<N extends AccessTable>(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, row }: { readonly table: N; readonly row: Row<N> },
): Promise<void> {
  await commitWrite(context, {
    action: 'TeamAccessDeleted',
    caller,
    organizationId: row.organizationId,
    subjects: [row.id],
    changes: [remove(table, row.id)],
  })
}
