import type { AclPermissions } from '../session/rights.ts'
import {
  firstDisabledReason,
  requiresCapability,
  requiresManagementToken,
  type DisabledReason,
} from './verdict.ts'

/** Why an action on tokens, ACL policies, roles or namespaces is disabled. */
export const accessDisabledReason = {
  write: (permissions: AclPermissions): DisabledReason => requiresManagementToken(permissions),
  /** Create and update. */
  writeNamespace: (permissions: AclPermissions): DisabledReason =>
    requiresManagementToken(permissions),
  /** Delete. */
  deleteNamespace: (name: string, permissions: AclPermissions): DisabledReason =>
    firstDisabledReason(
      name === 'default' && 'The namespace "default" is always there.',
      requiresManagementToken(permissions),
    ),
  /** Delete a stale registration of a service. */
  deleteRegistration: (namespace: string, permissions: AclPermissions): DisabledReason =>
    requiresCapability(permissions, namespace, 'submit-job', 'delete-service-registration'),
} as const
