import { v2 } from '@reeve/contract'
import {
  teamPermissions,
  type GovernanceContext,
  type VisibleTeam,
} from '../../../governance/index.ts'
import { resourcePath, relatedLink, toMany, toOne } from './links.ts'

export function teamResource({ store }: GovernanceContext, visible: VisibleTeam): v2.Team {
  const { team, organization, rights } = visible
  const members = store.tables.team_memberships.rowsByIndex('team', team.id)
  const granted: ReadonlySet<string> = new Set(team.organizationAccess)
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
        v2.ORGANIZATION_ACCESS.map((name) => [name, team.isOwners || granted.has(name)]),
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
      'authentication-token': relatedLink('teams', team.id, 'authentication-token'),
    },
    links: { self: resourcePath('teams', team.id) },
  }
}
