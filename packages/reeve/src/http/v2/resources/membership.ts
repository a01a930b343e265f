import type { v2 } from '@reeve/contract'
import type { GovernanceContext } from '../../../governance/index.ts'
import type { OrganizationMembershipRow } from '../../../model/index.ts'
import { resourcePath, formatTime, toMany, toOne } from './links.ts'

/** Returns a membership. `teamIds` are those of its teams that the caller may see. */
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
      'created-at': formatTime(row.createdMs),
    },
    relationships: {
      teams: toMany('teams', teamIds),
      user: toOne('users', row.userId),
      organization: toOne('organizations', organization.name),
    },
    links: { self: resourcePath('organization-memberships', row.id) },
  }
}
