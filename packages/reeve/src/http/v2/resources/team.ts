import { v2 } from '@reeve/contract'
import {
  teamPermissions,
  type GovernanceContext,
  type SeenTeam,
} from '../../../governance/index.ts'
import { pathOf, related, toMany, toOne } from './links.ts'

export function teamResource({ store }: GovernanceContext, seen: SeenTeam): v2.Team {
  const { team, organization, rights } = seen
  const members = store.tables.team_memberships.rowsIn('team', team.id)
  const held: ReadonlySet<string> = new Set(team.organizationAccess)
  return {
    id: team.id,
    type: 'teams',
    attributes: {
      name: team.name,
      visibility: team.visibility,
      'users-count': members.length,
      'allow-member-token-management': team.allowMemberTokenManagement,
      // One flag for each name of the contract.
      'organization-access': Object.fromEntries(
        v2.ORGANIZATION_ACCESS.map((name) => [name, team.isOwners || held.has(name)]),
      ) as v2.Team['attributes']['organization-access'],
      permissions: teamPermissions(rights),
    },
    relationships: {
      organization: toOne('organizations', organization.name),
      users: toMany(
        'users',
        members.map(({ userId }) => userId),
      ),
      'organization-memberships': toMany(
        'organization-memberships',
        members.map(({ membershipId }) => membershipId),
      ),
      'authentication-token': related('teams', team.id, 'authentication-token'),
    },
    links: { self: pathOf('teams', team.id) },
  }
}
