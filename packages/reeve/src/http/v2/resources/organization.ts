import type { v2 } from '@reeve/contract'
import { organizationPermissions, type VisibleOrganization } from '../../../governance/index.ts'
import type { OrganizationRow } from '../../../model/index.ts'
import { resourcePath, relatedLink, formatTime, toOne } from './links.ts'

export function organizationResource({ organization, role }: VisibleOrganization): v2.Organization {
  const { name } = organization
  return {
    id: name,
    type: 'organizations',
    attributes: {
      name,
      'external-id': organization.id,
      email: organization.email,
      'created-at': formatTime(organization.createdMs),
      'allow-force-delete-workspaces': organization.allowForceDeleteWorkspaces,
      'default-execution-mode': organization.defaultExecutionMode,
      'user-tokens-enabled': organization.userTokensEnabled,
      'require-override-comment': organization.requireOverrideComment,
      'session-timeout': organization.sessionTimeout,
      'session-remember': organization.sessionRemember,
      'collaborator-auth-policy': organization.collaboratorAuthPolicy,
      permissions: organizationPermissions(role),
    },
    relationships: {
      'default-project': {
        ...toOne('projects', organization.defaultProjectId),
        ...relatedLink('projects', organization.defaultProjectId),
      },
      'authentication-token': relatedLink('organizations', name, 'authentication-token'),
      'entitlement-set': {
        ...toOne('entitlement-sets', organization.id),
        ...relatedLink('organizations', name, 'entitlement-set'),
      },
    },
    links: { self: resourcePath('organizations', name) },
  }
}

/** Returns the entitlements: every feature is included, without limits. */
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
    links: { self: resourcePath('organizations', name, 'entitlement-set') },
  }
}
