import type { v2 } from '@reeve/contract'
import type { GovernanceContext } from '../../../governance/index.ts'
import type { OrganizationMembershipRow } from '../../../model/index.ts'
import { pathOf, timeText, toMany, toOne } from './links.ts'

/** `teamIds` are those of its teams that the caller may know of. */
export function membershipResource(
  { store }: GovernanceContext,
  row: OrganizationMembershipRow,
  teamIds: readonly string[],
): v2.OrganizationMembership {
  const organization = store.tables.organizations.get(row.organizationId)
  return {
    id: row.id,
    type: 'organization-memberships',
    attributes: {
      status: row.status,
      email: row.email,
      'created-at': timeText(row.createdMs),
    },
    relationships: {
      teams: toMany('teams', teamIds),
      user: toOne('users', row.userId),
      organization: toOne('organizations', organization.name),
    },
    links: { self: pathOf('organization-memberships', row.id) },
  }
}
