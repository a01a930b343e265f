import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, OrganizationMembershipRow } from '../../model/index.ts'
import { normalizeName, put, remove, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { activeOwners } from '../organizations/membership-end.ts'
import { findTeamWith } from './teams.ts'

export interface TeamMemberChange {
  readonly teamId: string
  /** Usernames, user IDs, or membership IDs. */
  readonly ids: readonly string[]
  readonly idType: 'user' | 'membership'
  readonly isRemoval: boolean
}

/** Adds members of the organization to a team, or removes them, atomically. */
export async function changeTeamMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  change: TeamMemberChange,
): Promise<Result<void, GovernanceRefusal>> {
  const { teamId, isRemoval } = change
  const lookup = findTeamWith(context, caller, { teamId, right: 'updateMembers' })
  if (!lookup.ok) return lookup
  const { organizationId, isOwners } = lookup.value.team
  const found = resolveMembers(context, organizationId, change)
  if (!found.ok) return found
  const members = found.value
  const { tables } = context.store
  if (isRemoval && isOwners) {
    const removed = new Set(members.map(({ id }) => id))
    const owners = activeOwners(tables, teamId)
    if (owners.length > 0 && owners.every((id) => removed.has(id)))
      return err({ code: 'unprocessable', detail: 'The last owner cannot leave the owners team.' })
  }
  const isMember = ({ id }: OrganizationMembershipRow): boolean =>
    tables.team_memberships.has(scopedKey(teamId, id))
  await commitWrite(context, {
    action: 'TeamMembersChanged',
    caller,
    organizationId,
    affectedIds: [teamId],
    changes: isRemoval
      ? members.filter(isMember).map(({ id }) => remove('team_memberships', scopedKey(teamId, id)))
      : members
          .filter((row) => !isMember(row))
          .map(({ id: membershipId, userId }) =>
            put('team_memberships', { teamId, membershipId, organizationId, userId }),
          ),
  })
  return ok(undefined)
}

/** Looks up members. An unknown user gives status 400, an unknown membership 422. */
function resolveMembers(
  { store }: GovernanceContext,
  organizationId: string,
  { ids, idType }: TeamMemberChange,
): Result<readonly OrganizationMembershipRow[], GovernanceRefusal> {
  const { users, organization_memberships: memberships } = store.tables
  const found = new Map<string, OrganizationMembershipRow>()
  for (const [i, id] of ids.entries()) {
    const [userIdByName] = users.keysByIndex('username', normalizeName(id))
    const userId = users.has(id) ? id : userIdByName
    const pair = scopedKey(organizationId, userId ?? '')
    const [membershipId] = idType === 'user' ? memberships.keysByIndex('pair', pair) : [id]
    const membership = membershipId === undefined ? undefined : memberships.find(membershipId)
    if (membership !== undefined && membership.organizationId === organizationId)
      found.set(membership.id, membership)
    else if (idType === 'user')
      return err({ code: 'malformed', detail: `User ${id} does not exist` })
    else {
      const detail = `Organization membership ${id} does not exist`
      return err({ code: 'invalid', problems: [{ pointer: `/data/${i}/id`, detail }] })
    }
  }
  return ok([...found.values()])
}
