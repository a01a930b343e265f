import type { NamespaceCapability } from '@reeve/contract'
import {
  hasClusterPolicy,
  hasNamespaceCapability,
  type ClusterResource,
  type AclPermissions,
} from '../session/acl-permissions.ts'

/** Why an action is disabled, for display; undefined if it is enabled. */
export type DisabledReason = string | undefined

/** Returns the first reason that applies. */
export function firstDisabledReason(
  ...reasons: readonly (DisabledReason | false)[]
): DisabledReason {
  return reasons.find((reason) => typeof reason === 'string') || undefined
}

/** Returns why the token is insufficient; any one of the capabilities is enough. */
export function requiresCapability(
  permissions: AclPermissions,
  namespace: string,
  ...capabilities: readonly NamespaceCapability[]
): DisabledReason {
  if (hasNamespaceCapability(permissions, namespace, capabilities)) return undefined
  const names = capabilities.map((one) => `namespace:${one}`).join(' or ')
  return `Your token lacks ${names} in the namespace "${namespace}".`
}

/** Like `requiresCapability`, for resources without a namespace, such as nodes. */
export function requiresClusterPolicy(
  permissions: AclPermissions,
  resource: ClusterResource,
  level: 'read' | 'write',
): DisabledReason {
  if (hasClusterPolicy(permissions, resource, level)) return undefined
  return `Your token lacks ${resource.toLowerCase()}:${level}.`
}

export function requiresManagementToken(permissions: AclPermissions): DisabledReason {
  return permissions.isUnlimited ? undefined : 'Only a management token may do this.'
}
