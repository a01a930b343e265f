import type { OrganizationMembershipRow } from '../../model/index.ts'
import { remove, scopedKey, type Change, type Tables } from '../../state/index.ts'

/** Removes a user from an organization and all its teams. */
export function deleteMembershipChanges(tables: Tables, membershipId: string): readonly Change[] {
  const teamMembershipKeys = [...tables.team_memberships.keysByIndex('membership', membershipId)]
  return [
    ...teamMembershipKeys.map((key) => remove('team_memberships', key)),
    remove('organization_memberships', membershipId),
  ]
}

/**
 * Reports whether the organization would lose its last owner. Pending invitations do not count,
 * because they may never be accepted.
 */
export function isLastOwner(
  tables: Tables,
  membership: Pick<OrganizationMembershipRow, 'id' | 'organizationId'>,
): boolean {
  const { ownersTeamId } = tables.organizations.get(membership.organizationId)
  if (!tables.team_memberships.has(scopedKey(ownersTeamId, membership.id))) return false
  return activeOwners(tables, ownersTeamId).every((id) => id === membership.id)
}

export function activeOwners(tables: Tables, ownersTeamId: string): readonly string[] {
  return tables.team_memberships
    .rowsByIndex('team', ownersTeamId)
    .map(({ membershipId }) => membershipId)
    .filter((id) => tables.organization_memberships.find(id)?.status === 'active')
}
