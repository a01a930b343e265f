import type { v2 } from '@reeve/contract'
import {
  callerName,
  findShownUser,
  isSiteAdministrator,
  mayCreateOrganizations,
  type GovernanceCaller,
  type GovernanceContext,
  type ShownUser,
} from '../../../governance/index.ts'
import type { UserRow } from '../../../model/index.ts'
import { pathOf, related, toOne } from './links.ts'

/** A user as other members of an organization see it. */
export function userResource(
  user: Pick<ShownUser, 'id' | 'username' | 'isServiceAccount'>,
): v2.User {
  return {
    id: user.id,
    type: 'users',
    attributes: everywhere(user),
    links: { self: pathOf('users', user.id) },
  }
}

function everywhere({
  username,
  isServiceAccount,
}: Pick<ShownUser, 'username' | 'isServiceAccount'>) {
  return { username, 'is-service-account': isServiceAccount, 'avatar-url': null }
}

/** A user as the site administrator sees it. */
export function adminUserResource(user: UserRow): v2.AdminUser {
  return {
    id: user.id,
    type: 'users',
    attributes: {
      ...everywhere({ ...user, isServiceAccount: false }),
      email: user.email,
      'is-admin': user.isAdmin,
    },
    links: { self: pathOf('users', user.id) },
  }
}

/** The caller itself; for a team or organization token the service user it acts as. */
export function accountResource(context: GovernanceContext, caller: GovernanceCaller): v2.Account {
  const shown = findShownUser(context, caller.userId)
  // The site's own administrator is no row: it is the holder of the management token.
  const username = callerName(context, caller)
  const user = shown ?? { username, isServiceAccount: true, email: null }
  const isPerson = caller.kind === 'user'
  const { userId: id } = caller
  return {
    id,
    type: 'users',
    attributes: {
      ...everywhere(user),
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
      'authentication-tokens': related('users', id, 'authentication-tokens'),
      'authenticated-resource': authenticated(context, caller),
    },
    links: {
      self: pathOf('users', id),
      'auth-token': 'tokenId' in caller ? pathOf('authentication-tokens', caller.tokenId) : null,
    },
  }
}

/** Whom the token stands for, which is not the service user itself. */
function authenticated({ store }: GovernanceContext, caller: GovernanceCaller) {
  switch (caller.kind) {
    case 'site':
    case 'user':
      return { ...toOne('users', caller.userId), ...related('users', caller.userId) }
    case 'team':
      return { ...toOne('teams', caller.teamId), ...related('teams', caller.teamId) }
    default: {
      const { name } = store.tables.organizations.get(caller.organizationId)
      return { ...toOne('organizations', name), ...related('organizations', name) }
    }
  }
}
