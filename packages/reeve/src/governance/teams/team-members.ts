import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, OrganizationMembershipRow } from '../../model/index.ts'
import { foldName, put, remove, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { activeOwners } from '../organizations/membership-end.ts'
import { findTeamWith } from './teams.ts'

export interface MemberChange {
  readonly teamId: string
  /** Usernames or user ids, or ids of memberships. */
  readonly ids: readonly string[]
  readonly by: 'user' | 'membership'
  readonly isRemoval: boolean
}

/** Adds members of the organization to a team, or takes them out: all or none. */
export async function changeTeamMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  change: MemberChange,
): Promise<Result<void, GovernanceRefusal>> {
  const { teamId, isRemoval } = change
  const seen = findTeamWith(context, caller, { teamId, right: 'updateMembers' })
  if (!seen.ok) return seen
  const { organizationId, isOwners } = seen.value.team
  const found = resolveMembers(context, organizationId, change)
  if (!found.ok) return found
  const members = found.value
  const { tables } = context.store
  if (isRemoval && isOwners) {
    const gone = new Set(members.map(({ id }) => id))
    const owners = activeOwners(tables, teamId)
    if (owners.length > 0 && owners.every((id) => gone.has(id)))
      return err({ code: 'unprocessable', detail: 'The last owner cannot leave the owners team.' })
  }
  const isIn = ({ id }: OrganizationMembershipRow): boolean =>
    tables.team_memberships.has(scopedKey(teamId, id))
  await commitWrite(context, {
    action: 'TeamMembersChanged',
    caller,
    organizationId,
    subjects: [teamId],
    changes: isRemoval
      ? members.filter(isIn).map(({ id }) => remove('team_memberships', scopedKey(teamId, id)))
      : members
          .filter((row) => !isIn(row))
          .map(({ id: membershipId, userId }) =>
            put('team_memberships', { teamId, membershipId, organizationId, userId }),
          ),
  })
  return ok(undefined)
}

/** A user that is not there is 400, a membership 422. */
function resolveMembers(
  { store }: GovernanceContext,
  organizationId: string,
  { ids, by }: MemberChange,
): Result<readonly OrganizationMembershipRow[], GovernanceRefusal> {
  const { users, organization_memberships: memberships } = store.tables
  const found = new Map<string, OrganizationMembershipRow>()
  for (const [i, id] of ids.entries()) {
    const [named] = users.keysIn('username', foldName(id))
    const userId = users.has(id) ? id : named
    const pair = scopedKey(organizationId, userId ?? '')
    const [seatId] = by === 'user' ? memberships.keysIn('pair', pair) : [id]
    const seat = seatId === undefined ? undefined : memberships.find(seatId)
    if (seat !== undefined && seat.organizationId === organizationId) found.set(seat.id, seat)
    else if (by === 'user') return err({ code: 'malformed', detail: `User ${id} does not exist` })
    else {
      const detail = `Organization membership ${id} does not exist`
      return err({ code: 'invalid', problems: [{ pointer: `/data/${i}/id`, detail }] })
    }
  }
  return ok([...found.values()])
}
