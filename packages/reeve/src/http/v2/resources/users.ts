import type { v2 } from '@reeve/contract'
import {
  callerName,
  findPublicUser,
  isSiteAdministrator,
  mayCreateOrganizations,
  type GovernanceCaller,
  type GovernanceContext,
  type PublicUser,
} from '../../../governance/index.ts'
import type { OrganizationMembershipRow, UserRow } from '../../../model/index.ts'
import { resourcePath, relatedLink, toOne, formatTime, toMany } from './links.ts'

/** Returns a user as other members of an organization see it. */
export function userResource(
  user: Pick<PublicUser, 'id' | 'username' | 'isServiceAccount'>,
): v2.User {
  return {
    id: user.id,
    type: 'users',
    attributes: commonAttributes(user),
    links: { self: resourcePath('users', user.id) },
  }
}

function commonAttributes({
  username,
  isServiceAccount,
}: Pick<PublicUser, 'username' | 'isServiceAccount'>) {
  return { username, 'is-service-account': isServiceAccount, 'avatar-url': null }
}

/** Returns a user as the site administrator sees it. */
export function adminUserResource(user: UserRow): v2.AdminUser {
  return {
    id: user.id,
    type: 'users',
    attributes: {
      ...commonAttributes({ ...user, isServiceAccount: false }),
      email: user.email,
      'is-admin': user.isAdmin,
    },
    links: { self: resourcePath('users', user.id) },
  }
}

/** Returns the caller's account; for a team or organization token, its service user. */
export function accountResource(context: GovernanceContext, caller: GovernanceCaller): v2.Account {
  const storedUser = findPublicUser(context, caller.userId)
  // The site administrator has no user row: it is the holder of the management token.
  const username = callerName(context, caller)
  const user = storedUser ?? { username, isServiceAccount: true, email: null }
  const isPerson = caller.kind === 'user'
  const { userId: id } = caller
  return {
    id,
    type: 'users',
    attributes: {
      ...commonAttributes(user),
      email: user.email,
      'is-admin': isSiteAdministrator(caller),
      'two-factor': { enabled: false, verified: false },
      permissions: {
        'can-create-organizations': mayCreateOrganizations(caller),
        'can-change-email': isPerson,
        'can-change-username': isPerson,
        'can-manage-user-tokens': isPerson,
      },
    },
    relationships: {
      'authentication-tokens': relatedLink('users', id, 'authentication-tokens'),
      'authenticated-resource': ownerRelationship(context, caller),
    },
    links: {
      self: resourcePath('users', id),
      'auth-token':
        'tokenId' in caller ? resourcePath('authentication-tokens', caller.tokenId) : null,
    },
  }
}

/** Returns the owner of the token, which is not the service user itself. */
function ownerRelationship({ store }: GovernanceContext, caller: GovernanceCaller) {
  switch (caller.kind) {
    case 'site':
    case 'user':
      return { ...toOne('users', caller.userId), ...relatedLink('users', caller.userId) }
    case 'team':
      return { ...toOne('teams', caller.teamId), ...relatedLink('teams', caller.teamId) }
    default: {
      const { name } = store.tables.organizations.get(caller.organizationId)
      return { ...toOne('organizations', name), ...relatedLink('organizations', name) }
    }
  }
}

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
