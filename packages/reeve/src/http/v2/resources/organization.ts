import type { v2 } from '@reeve/contract'
import { organizationPermissions, type Seat } from '../../../governance/index.ts'
import type { OrganizationRow } from '../../../model/index.ts'
import { pathOf, related, timeText, toOne } from './links.ts'

export function organizationResource({ organization, standing }: Seat): v2.Organization {
  const { name } = organization
  return {
    id: name,
    type: 'organizations',
    attributes: {
      name,
      'external-id': organization.id,
      email: organization.email,
      'created-at': timeText(organization.createdMs),
      'allow-force-delete-workspaces': organization.allowForceDeleteWorkspaces,
      'default-execution-mode': organization.defaultExecutionMode,
      'user-tokens-enabled': organization.userTokensEnabled,
      'require-override-comment': organization.requireOverrideComment,
      'session-timeout': organization.sessionTimeout,
      'session-remember': organization.sessionRemember,
      'collaborator-auth-policy': organization.collaboratorAuthPolicy,
      permissions: organizationPermissions(standing),
    },
    relationships: {
      'default-project': {
        ...toOne('projects', organization.defaultProjectId),
        ...related('projects', organization.defaultProjectId),
      },
      'authentication-token': related('organizations', name, 'authentication-token'),
      'entitlement-set': {
        ...toOne('entitlement-sets', organization.id),
        ...related('organizations', name, 'entitlement-set'),
      },
    },
    links: { self: pathOf('organizations', name) },
  }
}

/** Everything is included and nothing is limited here. */
export function entitlementSetResource({ id, name }: OrganizationRow): v2.EntitlementSet {
  return {
    id,
    type: 'entitlement-sets',
    attributes: {
      operations: true,
      teams: true,
      'policy-enforcement': true,
      'state-storage': true,
      'audit-logging': true,
      'private-policy-agents': true,
      'policy-limit': null,
      'policy-set-limit': null,
      'policy-mandatory-enforcement-limit': null,
      'versioned-policy-set-limit': null,
      'user-limit': null,
    },
    links: { self: pathOf('organizations', name, 'entitlement-set') },
  }
}
